import { FilesHandler } from '../index.js';
import { answerOf, filePart } from '../../../../test/support/files-agent.js';
import type { PageRange } from './pdf.js';
import { textsOfBlocks } from './pdf-texts.js';

const textOf = async (page: number) => `page ${page}`;
const textsOf = async ({ first, last }: PageRange) =>
  Array.from({ length: last - first + 1 }, (_, index) => `thread ${first + index}`);

/** The numbers of the pages of texts. */
const numbersIn = (texts: string[]) => texts.map((text) => Number(text.replace(/\D/g, '')));
const FROM_41_TO_300 = Array.from({ length: 260 }, (_, index) => index + 41);

async function allOf(texts: AsyncGenerator<string>): Promise<string[]> {
  const all: string[] = [];
  for await (const text of texts) all.push(text);
  return all;
}

/** A PDF with so many pages, each with its number. */
function pdfOfPages(count: number): Buffer {
  const font = '<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>';
  const objects = Array.from({ length: count }, (_, index) => {
    const content = `BT /F1 12 Tf 9 9 Td (number${index + 1} here) Tj ET`;
    const page = `<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 99]/Contents ${index * 2 + 4} 0 R/Resources${font}>>`;
    return (
      `${index * 2 + 3} 0 obj${page}endobj\n` +
      `${index * 2 + 4} 0 obj<</Length ${content.length}>>stream\n${content}\nendstream endobj\n`
    );
  });
  const kids = objects.map((_, index) => `${index * 2 + 3} 0 R`).join(' ');
  return Buffer.from(
    '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n' +
      `2 0 obj<</Type/Pages/Kids[${kids}]/Count ${count}>>endobj\n${objects.join('')}` +
      `trailer<</Size ${count * 2 + 3}/Root 1 0 R>>\n%%EOF`,
  );
}

describe('The texts of the pages of a PDF', () => {
  it('are in order where two readers read them', async () => {
    const texts = await allOf(textsOfBlocks({ first: 41, last: 300 }, textOf, textsOf));
    expect(numbersIn(texts)).toEqual(FROM_41_TO_300);
    expect(texts.some((text) => text.startsWith('page'))).toBe(true);
    expect(texts.some((text) => text.startsWith('thread'))).toBe(true);
  });

  it('are read by one reader where the other one has ended', async () => {
    let calls = 0;
    const ended = async (range: PageRange) => ((calls += 1) === 1 ? textsOf(range) : undefined);
    const texts = await allOf(textsOfBlocks({ first: 41, last: 300 }, textOf, ended));
    expect(numbersIn(texts)).toEqual(FROM_41_TO_300);
    expect(texts.filter((text) => text.startsWith('thread'))).toHaveLength(16);
    expect(calls).toBe(2);
  });

  it('are not read far ahead of who takes them', async () => {
    let furthest = 0;
    const texts = textsOfBlocks({ first: 1, last: 3000 }, textOf, async (range) => {
      furthest = range.last;
      return textsOf(range);
    });
    expect((await texts.next()).value).toMatch(/ 1$/);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(furthest).toBe(128);
    await texts.return(undefined);
  });

  it('fail as the first reader does, for a page that neither can read', async () => {
    const read = async (page: number) => {
      if (page === 60) throw new Error('Page 60 is broken.');
      return textOf(page);
    };
    const readThere = async (range: PageRange) => (range.first === 57 ? undefined : textsOf(range));
    await expect(allOf(textsOfBlocks({ first: 41, last: 300 }, read, readThere))).rejects.toThrow(
      'Page 60 is broken.',
    );
  });

  it('are found in a long PDF, of which a thread reads a part', async () => {
    const handler = new FilesHandler();
    const file = filePart('long.pdf', pdfOfPages(700));
    for (const page of [1, 41, 333, 700])
      expect(await answerOf(handler, [file, `find number${page}`])).toContain(
        `\`long.pdf\`, page ${page}: \`number${page} here\``,
      );
    expect(await answerOf(handler, [file, 'find here'])).toContain('700 passages with `here`; the best 10:');
    expect(await answerOf(handler, [file, 'text'])).toContain('number699 here\nnumber700 here\n```');
    await handler.onApplicationShutdown();
  });
});
