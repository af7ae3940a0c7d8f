import { tableOf } from './table.js';

const ROWS = [
  ['a', '1', 'What is in this file?'],
  ['日本', '10', 'New\nlines \x1b[31m'],
];

describe('A table', () => {
  it('has aligned columns, also with wide characters', () => {
    expect(tableOf(['ID', 'N', 'TITLE'], ROWS, Infinity)).toBe(
      'ID    N   TITLE\na     1   What is in this file?\n日本  10  New lines ␛[31m\n',
    );
  });

  it('leaves columns out so that the last one has room, and cuts lines that are still too long', () => {
    expect(tableOf(['ID', 'N', 'TITLE'], ROWS, 16, ['N'])).toBe(
      'ID    TITLE\na     What is i…\n日本  New lines…\n',
    );
    expect(tableOf(['ID', 'N', 'TITLE'], ROWS, 5, ['N'])).toBe('ID  …\na   …\n日本…\n');
  });

  it('cuts lines to the width of the terminal', () => {
    expect(tableOf(['ID', 'N', 'TITLE'], ROWS, 20)).toBe(
      'ID    N   TITLE\na     1   What is i…\n日本  10  New lines…\n',
    );
  });
});
