import { numberedName, safeName } from './answer-files.js';

describe('The name of a saved file', () => {
  it.each([
    ['report.pdf', 'report.pdf'],
    ['Zwölf 日本.txt', 'Zwölf 日本.txt'],
    ['../../etc/passwd', '__.._etc_passwd'],
    ['..\\a', '__a'],
    ['C:evil', 'C_evil'],
    ['..', '_'],
    ['.', '_'],
    ['', '_'],
    ['.bashrc', '_bashrc'],
    ['a\0b\n', 'a_b_'],
    ['ann\u202efdp.exe', 'ann_fdp.exe'],
    ['a\u061cb\u200fc\u2066d\u2069.exe', 'a_b_c_d_.exe'],
    ['name. . ', 'name_'],
    ['con.txt', '_con.txt'],
    ['console.txt', 'console.txt'],
  ])('of %j is %j', (name, expected) => {
    expect(safeName(name)).toBe(expected);
  });
});

describe('The second file with the name', () => {
  it.each([
    ['report.pdf', 'report (2).pdf'],
    ['README', 'README (2)'],
    [`${'é'.repeat(125)}.text`, `${'é'.repeat(123)} (2).text`],
    [`a.${'b'.repeat(253)}`, `a.${'b'.repeat(249)} (2)`],
  ])('%j is %j', (name, expected) => {
    expect(numberedName(name, 2)).toBe(expected);
  });
});
