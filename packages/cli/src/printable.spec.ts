import { printable, printableJson, printableLine } from './printable.js';

describe('A text for a terminal', () => {
  it.each([
    ['plain text\twith tabs\nand lines', 'plain text\twith tabs\nand lines'],
    ['\x1b[2J\x1b]0;title\x07', '␛[2J␛]0;title␇'],
    ['back\bspace, return\r, delete\x7f', 'back␈space, return␍, delete␡'],
    ['Windows\r\nlines', 'Windows\nlines'],
    ['8-bit \x9b31m', '8-bit \ufffd31m'],
    ['turned \u202egnp.exe\u2069', 'turned \ufffdgnp.exe\ufffd'],
    ['Zwölf 😀 日本', 'Zwölf 😀 日本'],
  ])('is harmless: %j', (text, expected) => {
    expect(printable(text)).toBe(expected);
  });

  it('has one line where it must', () => {
    expect(printableLine(' a\n  b\tc ')).toBe('a b c');
    expect(printableLine('😀😀😀😀', 3)).toBe('😀😀…');
  });

  it('is the same value as JSON', () => {
    const value = { text: 'a\x9b\u202e\x1b\n' };
    const json = printableJson(value);
    expect(json).toBe('{"text":"a\\u009b\\u202e\\u001b\\n"}');
    expect(JSON.parse(json)).toEqual(value);
  });
});
