import fc from 'fast-check';
import { TextTally, describeText } from './text.js';

function tally(...pieces: string[]): string {
  const counts = new TextTally();
  for (const piece of pieces) counts.add(piece);
  return counts.toString();
}

describe('TextTally', () => {
  it.each([
    ['', '0 lines, 0 words, 0 characters'],
    ['Hello', '1 line, 1 word, 5 characters'],
    ['one two\nthree\n', '2 lines, 3 words, 14 characters'],
    ['a\r\nb\rc', '3 lines, 3 words, 6 characters'],
    ['\n\n', '2 lines, 0 words, 2 characters'],
    ['😀\u00a0x', '1 line, 2 words, 3 characters'],
  ])('counts %j', (text, counts) => expect(tally(text)).toBe(counts));

  it('counts the same wherever a text is cut', () => {
    const text = fc
      .array(fc.constantFrom('a', ' ', '\r', '\n', '😀', '\ud83d', '\ude00'))
      .map((units) => units.join(''));
    fc.assert(
      fc.property(text, fc.nat(20), (whole, at) => {
        expect(tally(whole.slice(0, at), whole.slice(at))).toBe(tally(whole));
      }),
    );
  });

  it('describes a text without content in words', async () => {
    expect(await describeText('')).toBe('An empty text.');
    expect(await describeText(' \n')).toBe('A text of nothing but white space.');
  });
});
