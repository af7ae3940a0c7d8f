import { Worker } from 'node:worker_threads';
import { Logger } from '@nestjs/common';
import type { FilePart } from '../../query/index.js';
import type { FilesLimits } from './files-limits.js';
import { Slots } from './slots.js';
import { threadEntry } from './thread-entry.js';
import type { ThreadBytes, ThreadMessage, ThreadTask } from './thread-messages.js';
import { UnreadableFile } from './unreadable-file.js';

/** Bytes of a file for which one more second is added to its time limit. */
const BYTES_PER_SECOND = 8 * 1024 * 1024;

/**
 * Describes each file in a separate thread, which ends with that file: nothing that a hostile file does to its thread
 * affects another file. Starting a thread takes about 20 ms.
 */
export class ParserThreads {
  readonly #logger = new Logger(ParserThreads.name);
  readonly #slots: Slots;

  constructor(private readonly limits: FilesLimits) {
    this.#slots = new Slots(limits.threads);
  }

  /**
   * Waits for a free thread, then describes in Markdown what is in a file.
   *
   * @param signal ends the wait or the thread
   * @throws {UnreadableFile} if the file is broken, encrypted or exceeds a limit
   * @throws the signal's reason when it is aborted
   */
  async describe(part: FilePart, signal: AbortSignal): Promise<string> {
    const release = await this.#slots.acquire(signal);
    try {
      return await this.#run(part, signal);
    } finally {
      release();
    }
  }

  async #run({ name, mimeType, file }: FilePart, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const task: ThreadTask = { name, mimeType, size: file.size, limits: { ...this.limits } };
    const thread = new Worker(threadEntry, {
      workerData: task,
      resourceLimits: { maxOldGenerationSizeMb: this.limits.memoryMiB },
      // A parser must not see the environment and the options of the service, nor write to its output.
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
    });
    thread.stdout.resume();
    thread.stderr.resume();
    const seconds = this.limits.seconds + file.size / BYTES_PER_SECOND;
    let timer: NodeJS.Timeout | undefined;
    let onAbort: (() => void) | undefined;
    try {
      return await new Promise<string>((resolve, reject) => {
        timer = setTimeout(() => reject(tooSlow(seconds)), seconds * 1000);
        onAbort = () => reject(signal.reason as Error);
        signal.addEventListener('abort', onAbort);
        thread.on('message', (message: ThreadMessage) => {
          if (message.type === 'read') void answer(thread, file, message);
          else if (message.type === 'described') resolve(message.content);
          else reject(this.#refusal(message));
        });
        thread.on('error', (error: Error & { code?: string }) => {
          reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? this.#tooBig() : error);
        });
        thread.on('exit', () => reject(new Error('The thread ended without an answer')));
      });
    } catch (error) {
      if (signal.aborted || error instanceof UnreadableFile) throw error;
      throw this.#unexpected((error as Error).stack);
    } finally {
      clearTimeout(timer);
      if (onAbort) signal.removeEventListener('abort', onAbort);
      await thread.terminate();
    }
  }

  #refusal(message: Exclude<ThreadMessage, { type: 'read' | 'described' }>): UnreadableFile {
    if (message.type === 'unreadable') return new UnreadableFile(message.reason);
    if (message.type === 'out of memory') return this.#tooBig();
    if (!message.missingLibrary) return this.#unexpected(message.cause);
    this.#logger.warn(`A library that the files agent needs is not installed: ${message.cause}`);
    return new UnreadableFile('This service is not set up to look into files of this type.');
  }

  #tooBig(): UnreadableFile {
    return new UnreadableFile(
      `Describing this file takes more than ${this.limits.memoryMiB} MiB of memory, which is more than is spent on one file.`,
    );
  }

  #unexpected(cause: string | undefined): UnreadableFile {
    this.#logger.warn(`A file could not be described: ${cause}`);
    return new UnreadableFile(
      'This file could not be described: it is broken, or of a kind that is not understood.',
    );
  }
}

function tooSlow(seconds: number): UnreadableFile {
  const limit = seconds.toLocaleString('en-US', { maximumSignificantDigits: 2 });
  return new UnreadableFile(
    `Describing this file takes more than ${limit} ${limit === '1' ? 'second' : 'seconds'}, which is more than is spent on it.`,
  );
}

/** Sends a thread the bytes that it requests. If the thread has ended in the meantime, nothing happens. */
async function answer(
  thread: Worker,
  file: File,
  { id, start, end }: { id: number; start: number; end: number },
) {
  let bytes: ArrayBuffer | undefined;
  try {
    bytes = await file.slice(start, end).arrayBuffer();
  } catch {
    // The content is no longer available. The thread receives no bytes, and its answer says so.
  }
  const message: ThreadBytes = { id, bytes };
  thread.postMessage(message, bytes ? [bytes] : []);
}
