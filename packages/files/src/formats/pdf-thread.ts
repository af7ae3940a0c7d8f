/**
 * The program of a thread that reads pages of a PDF. An error ends the thread: the process that has started it reads these pages
 * itself then, and knows what to say about the error.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { LONGEST, pdfOfBytes, textOfPage, textsIn } from './pdf.js';
import type { PageRange } from './pdf.js';

// Without it, the library unpacks pages by itself. To read a PDF of thousands of pages takes a quarter less time then.
Reflect.deleteProperty(globalThis, 'DecompressionStream');

const pdf = pdfOfBytes(workerData as Uint8Array).then(({ promise }) => promise);

parentPort!.on('message', (range: PageRange) => void answer(range));

async function answer(range: PageRange): Promise<void> {
  const opened = await pdf;
  parentPort!.postMessage(await textsIn(range, (number) => textOfPage(opened, number, LONGEST)));
}
