import { Worker } from 'node:worker_threads';
import type { PageRange } from './pdf.js';

/** A thread that reads pages of a PDF. It must be closed. */
export class PdfHelper {
  readonly #thread: Worker;
  readonly #ended: Promise<undefined>;

  /**
   * @param data the bytes of the PDF, which the thread takes away
   * @param memoryMiB what its objects may take, in MiB
   */
  constructor(data: Uint8Array, memoryMiB: number) {
    this.#thread = new Worker(new URL('./pdf-thread.js', import.meta.url), {
      workerData: data,
      transferList: [data.buffer as ArrayBuffer],
      resourceLimits: { maxOldGenerationSizeMb: memoryMiB },
      execArgv: [],
      env: {},
    });
    this.#ended = new Promise((resolve) => this.#thread.once('exit', () => resolve(undefined)));
    // The thread ends then.
    this.#thread.on('error', () => undefined);
  }

  /** The texts of pages; undefined if the thread has ended. One call at a time. */
  read(range: PageRange): Promise<string[] | undefined> {
    const texts = new Promise<string[]>((resolve) => this.#thread.once('message', resolve));
    this.#thread.postMessage(range);
    return Promise.race([texts, this.#ended]);
  }

  async close(): Promise<void> {
    await this.#thread.terminate();
  }
}
