import process from 'node:process';
import type { FilesLimits } from '../files-limits.js';
import { PdfHelper } from './pdf-helper.js';
import { textsIn } from './pdf.js';
import type { PageRange, Pdf, ReadPage } from './pdf.js';

/** Pages of a PDF for which a second thread is worth its start. */
const LONG = 200;
/** Pages that are read before it starts: a request that needs only the beginning does not need it. */
const ALONE = 40;
/** MiB of the process above the limit for one file. It ends at 80 MiB above it, which is what an idle one takes. */
const SPARE = 40;
/** Pages of a block, and blocks that may have been read before they are taken. */
const BLOCK = 16;
const AHEAD = 8;

/** The texts of pages; undefined if they cannot be read in this way any more. */
type ReadPages = (range: PageRange) => Promise<string[] | undefined>;

/**
 * The texts of all pages of a PDF, in order. Of a long one, a second thread reads about half, as long as there is
 * memory for both.
 *
 * @param read reads a page in this thread
 */
export async function* textsOfPdf(pdf: Pdf, read: ReadPage, limits: FilesLimits): AsyncGenerator<string> {
  const last = pdf.numPages;
  const alone = last < LONG ? last : ALONE;
  for (let number = 1; number <= alone; number += 1) yield read(number);
  if (alone === last) return;
  const hasMemory = () => process.memoryUsage.rss() < (limits.memoryMiB + SPARE) * 1024 * 1024;
  const helper = hasMemory() ? new PdfHelper(await pdf.getData(), limits.memoryMiB / 2) : undefined;
  const readThere: ReadPages = async (range) => {
    if (hasMemory()) return helper?.read(range);
    await helper?.close();
    return undefined;
  };
  try {
    yield* textsOfBlocks({ first: alone + 1, last }, read, readThere);
  } finally {
    await helper?.close();
  }
}

/**
 * The texts of pages, in order, which two readers read at the same time: whoever is ready takes the next block.
 *
 * @param readHere reads a page, and also those that the other reader could not read
 * @param readThere is not called any more after it has returned undefined
 */
export async function* textsOfBlocks(
  { first, last }: PageRange,
  readHere: ReadPage,
  readThere: ReadPages,
): AsyncGenerator<string> {
  const blocks = Math.ceil((last - first + 1) / BLOCK);
  const texts = new Map<number, string[]>();
  let taken = 0;
  let free = 0;
  let isAlone = false;
  const hasFree = () => free < Math.min(blocks, taken + AHEAD);
  const rangeOf = (block: number) => ({
    first: first + block * BLOCK,
    last: Math.min(last, first + block * BLOCK + BLOCK - 1),
  });
  const read = async (block: number) => {
    texts.set(block, await textsIn(rangeOf(block), readHere));
  };
  const help = async () => {
    while (hasFree() && !isAlone) {
      const block = free++;
      const found = await readThere(rangeOf(block));
      isAlone = !found;
      if (found) texts.set(block, found);
      else await read(block);
    }
  };
  let helping: Promise<void> | undefined;
  for (; taken < blocks; taken += 1) {
    helping ??= help().then(() => (helping = undefined));
    // Who waits for it hears of its failure.
    helping.catch(() => undefined);
    while (!texts.has(taken)) await (hasFree() ? read(free++) : helping);
    yield* texts.get(taken)!;
    texts.delete(taken);
  }
}
