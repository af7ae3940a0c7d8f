import fc from 'fast-check';
import { block, bytes, clip, code, count, opening, table } from './markdown.js';

const hostile = fc.string({
  unit: fc.constantFrom('`', '|', '\n', '\r', '\0', '\u202e', '\ud800', 'a', ' ', '#', '<'),
});

describe('markdown', () => {
  it('writes any text as one code span of one line and a bounded length', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const span = code(text, 10);
        expect(span).not.toMatch(/[\n\r\0\u202e\ud800]/);
        if (span === '(empty)') return;
        const fence = /^`+/.exec(span)![0];
        expect(span.endsWith(fence)).toBe(true);
        // CommonMark 6.1: a code span ends at the first run of exactly as many backticks.
        const inside = span.slice(fence.length, -fence.length);
        expect(inside.match(/`+/g)?.includes(fence) ?? false).toBe(false);
        expect(inside.length).toBeLessThanOrEqual(13);
      }),
    );
  });

  it('writes any text as one fenced block', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const lines = block(text).split('\n');
        const fence = /^`+/.exec(lines[0]!)![0];
        expect(lines.at(-1)).toBe(fence);
        // CommonMark 4.5: the block ends at a line of at least as many backticks.
        for (const line of lines.slice(1, -1)) expect(line.trim().startsWith(fence)).toBe(false);
      }),
    );
  });

  it('writes a text with very many backticks as one fenced block', () => {
    const text = '` '.repeat(200_000);
    expect(block(text) === `\`\`\`text\n${text}\n\`\`\``).toBe(true);
  });

  it('writes as many cells in every row of a table as in its head, for any text in the cells', () => {
    fc.assert(
      fc.property(hostile, hostile, (a, b) => {
        const rows = table(['a', 'b'], [[code(a), code(b)]]).split('\n');
        expect(rows).toHaveLength(3);
        expect(rows[2]!.match(/(?<!\\)\|/g)).toHaveLength(3);
      }),
    );
  });

  it('cuts between two characters, never within one', () => {
    expect(clip('ab😀', 3)).toBe('ab…');
    expect(clip('ab😀', 4)).toBe('ab😀');
  });

  it('shows the first fifteen lines and says that there are more', () => {
    expect(opening('x\n'.repeat(16), true)).toBe(
      `\`\`\`text\n${'x\n'.repeat(15)}\`\`\`\n\n(The beginning only.)`,
    );
    expect(opening('x', true)).toBe('```text\nx\n```');
    expect(opening('x', false)).toBe('```text\nx\n```\n\n(The beginning only.)');
  });

  it.each([
    [1, '1 byte'],
    [999, '999 bytes'],
    [1000, '1 kB'],
    [12_345, '12.3 kB'],
    [999_600, '1 MB'],
    [1_500_000_000, '1.5 GB'],
  ])('writes %i bytes as %s', (amount, text) => expect(bytes(amount)).toBe(text));

  it('writes the plural for every amount except one', () => {
    expect([count(0, 'row'), count(1, 'row'), count(1204, 'row')]).toEqual(['0 rows', '1 row', '1,204 rows']);
  });
});
