import { tableOf } from './table.js';

const ROWS = [
  ['a', '1', 'What is in this file?'],
  ['日本', '10', 'New\nlines \x1b[31m'],
];

describe('A table', () => {
  it('has aligned columns, also with wide characters', () => {
    expect(tableOf(['ID', 'N', 'TITLE'], ROWS, undefined)).toBe(
      'ID    N   TITLE\na     1   What is in this file?\n日本  10  New lines ␛[31m\n',
    );
  });

  it('cuts the last column to the width of the terminal', () => {
    expect(tableOf(['ID', 'N', 'TITLE'], ROWS, 20)).toBe(
      'ID    N   TITLE\na     1   What is i…\n日本  10  New lines…\n',
    );
  });
});
