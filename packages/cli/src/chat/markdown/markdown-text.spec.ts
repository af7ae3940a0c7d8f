import { lookOf } from './inline.js';
import { MarkdownText } from './markdown-text.js';

const text = (width = 40, isStyled = false) => new MarkdownText(() => lookOf(width, isStyled));

/** What is shown of a text that arrives in such pieces. */
function shown(pieces: Iterable<string>, width?: number, isStyled?: boolean): string {
  const markdown = text(width, isStyled);
  return [...pieces].map((piece) => markdown.push(piece)).join('') + markdown.end();
}

const DOCUMENT = `# Orders

The file has **3 rows**; see [the guide](https://example.org/a) and \`a.csv\`.
It is &lt;small&gt;.

1. Count the rows
   - by city

   in two paragraphs
2. [x] Sum

- one
- two

| City | Amount |
|:-----|-------:|
| Zürich | 12.50 |
| 東京 | 1,200.00 |

~~~sql
select *

from orders;

~~~
> A quotation,
> too long for one line of the terminal.

---
The end.`;

const EXPECTED = `Orders

The file has 3 rows; see the guide
(https://example.org/a) and a.csv. It is
<small>.

1. Count the rows
   • by city

   in two paragraphs
2. [x] Sum

• one
• two

City      Amount
──────  ────────
Zürich     12.50
東京    1,200.00

    select *

    from orders;

│ A quotation, too long for one line of
│ the terminal.

────────────────────────────────────────

The end.
`;

describe('Markdown on a terminal', () => {
  it('has headings, lists, tables, code, quotations and links without marks', () => {
    expect(shown([DOCUMENT])).toBe(EXPECTED);
  });

  it.each([1, 2, 3, 5, 7, 11, 40])('is the same when it arrives in pieces of %d characters', (length) => {
    expect(shown(DOCUMENT.match(new RegExp(`[^]{1,${length}}`, 'g'))!)).toBe(EXPECTED);
  });

  it('has styles where the terminal has them', () => {
    expect(shown(['# A\n\n**b** *c* ~~d~~ `e`\n'], 40, true)).toBe(
      '\x1b[1m\x1b[4mA\x1b[24m\x1b[22m\n\n' +
        '\x1b[1mb\x1b[22m \x1b[3mc\x1b[23m \x1b[9md\x1b[29m \x1b[36me\x1b[39m\n',
    );
  });

  it('is shown as soon as nothing can change it: blocks, items of lists, lines of code', () => {
    const markdown = text();
    expect(markdown.push('# A\n')).toBe('A\n');
    expect(markdown.push('One\ntwo\n')).toBe('');
    expect(markdown.rest).toBe('One\ntwo\n');
    expect(markdown.push('\n')).toBe('\nOne two\n');
    expect(markdown.push('- a\n')).toBe('');
    expect(markdown.push('- b\n')).toBe('\n• a\n');
    expect(markdown.push('\n```\n')).toBe('• b\n');
    expect(markdown.push('x\n')).toBe('\n    x\n');
    expect(markdown.push('\n\ny\nz')).toBe('\n\n    y\n');
    expect(markdown.push('\n```\n')).toBe('    z\n');
    expect(markdown.push('end')).toBe('');
    expect(markdown.end()).toBe('\nend\n');
  });

  it('lets something else come between paragraphs and items, and does not end code for it', () => {
    const markdown = text();
    markdown.push('Let me look.');
    expect(markdown.pause()).toBe('Let me look.\n');
    expect(markdown.push('```\nx\n')).toBe('    x\n');
    expect(markdown.pause()).toBe('');
    expect(markdown.push('# no heading\n```\n# A\n')).toBe('    # no heading\n\nA\n');
  });

  it('breaks the cells of a table that is wider than the terminal', () => {
    expect(shown(['| a | b |\n|---|---|\n| one | two three four five |\n'], 20)).toBe(
      'a    b\n───  ───────────────\none  two three four\n     five\n',
    );
  });

  it('shows the address of a link that says another one, and no character reference as a control character', () => {
    expect(
      shown(['[https://good.example](https://bad.example) <https://a.example> &#27;[2J &#x1b;\n'], 100),
    ).toBe('https://good.example (https://bad.example) https://a.example ␛[2J ␛\n');
  });

  it.each([
    ['quotations inside of one another', '>'.repeat(20_000)],
    [
      'lists inside of one another',
      Array.from({ length: 300 }, (_, at) => `${' '.repeat(2 * at)}- a`).join('\n'),
    ],
    ['brackets that are not closed', '['.repeat(20_000)],
    ['marks without a word', '*_`~'.repeat(5_000)],
    ['a table of many columns', `${'|a'.repeat(500)}|\n${'|-'.repeat(500)}|\n`],
  ])('survives %s', (_, source) => {
    expect(shown([source, '\n\nThe end.'])).toMatch(/The end\.\n$/);
  });
});
