/** The program of a thread: describes one file. The thread that started it ends it then. */
import { parentPort, workerData } from 'node:worker_threads';
import { describeFile } from './describe-file.js';
import type { FileSource } from './file-source.js';
import { guardMemory } from './memory-guard.js';
import type { ThreadBytes, ThreadMessage, ThreadTask } from './thread-messages.js';
import { UnreadableFile } from './unreadable-file.js';

const { limits, ...file } = workerData as ThreadTask;
const port = parentPort!;

function send(message: ThreadMessage): void {
  port.postMessage(message);
}

/**
 * A file of the main thread, whose bytes are requested by messages. A Blob cannot be sent to a thread: Node 20 refuses to
 * clone a Blob that is backed by a file, and crashes the process when another thread reads a Blob that wraps such a one.
 */
class RemoteFile implements FileSource {
  readonly name = file.name;
  readonly mimeType = file.mimeType;
  readonly size = file.size;
  #id = 0;
  readonly #waiting = new Map<number, (bytes: ArrayBuffer | undefined) => void>();

  constructor() {
    port.on('message', ({ id, bytes }: ThreadBytes) => {
      this.#waiting.get(id)?.(bytes);
      this.#waiting.delete(id);
    });
  }

  async read(start: number, end: number): Promise<Uint8Array> {
    const id = (this.#id += 1);
    const bytes = await new Promise<ArrayBuffer | undefined>((resolve) => {
      this.#waiting.set(id, resolve);
      send({ type: 'read', id, start, end });
    });
    if (!bytes) throw new UnreadableFile('Its content is not available any more.');
    return new Uint8Array(bytes);
  }
}

guardMemory(limits.memoryMiB * 1024 * 1024, () => send({ type: 'out of memory' }));

try {
  send({ type: 'described', content: await describeFile(new RemoteFile(), limits) });
} catch (error) {
  if (error instanceof UnreadableFile) send({ type: 'unreadable', reason: error.message });
  else {
    const missingLibrary = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
    send({
      type: 'failed',
      cause: error instanceof Error ? (error.stack ?? error.message) : String(error),
      missingLibrary,
    });
  }
}
