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

  it('leaves columns out on a narrow terminal, and cuts the last of these before', () => {
    expect(tableOf(['ID', 'N', 'TITLE'], ROWS, 26, ['N', 'TITLE'])).toBe(
      'ID    N   TITLE\na     1   What is in this…\n日本  10  New lines ␛[31m\n',
    );
    expect(tableOf(['ID', 'N', 'TITLE'], ROWS, 16, ['N', 'TITLE'])).toBe(
      'ID    TITLE\na     What is i…\n日本  New lines…\n',
    );
    expect(tableOf(['ID', 'N', 'TITLE'], ROWS, 9, ['N', 'TITLE'])).toBe('ID\na\n日本\n');
  });

  it('cuts no other column, also where the line is longer than the terminal', () => {
    const rows = [['0123456789', 'What is it?', 'abcdef']];
    expect(tableOf(['ID', 'TITLE', 'N'], rows, 25, ['TITLE'])).toBe(
      'ID          TITLE  N\n0123456789  What…  abcdef\n',
    );
    expect(tableOf(['ID', 'TITLE', 'N'], rows, 20, ['TITLE'])).toBe('ID          N\n0123456789  abcdef\n');
    expect(tableOf(['ID', 'N'], [['0123456789', 'abcdef']], 5)).toBe('ID          N\n0123456789  abcdef\n');
  });
});
