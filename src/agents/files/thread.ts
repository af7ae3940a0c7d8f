/** Program of a thread: describes one file, then is ended by the thread that started it. */
import { parentPort, workerData } from 'node:worker_threads';
import { describeFile } from './describe-file.js';
import type { FileSource } from './file-source.js';
import { guardMemory } from './memory-guard.js';
import type { ThreadBytes, ThreadMessage, ThreadTask } from './thread-messages.js';
import { UnreadableFile } from './unreadable-file.js';

const { limits, ...file } = workerData as ThreadTask;
const port = parentPort!;

function say(message: ThreadMessage): void {
  port.postMessage(message);
}

/**
 * Files stay with the thread that received them, and bytes are asked for. A Blob cannot be handed over: Node 20 refuses
 * to clone one that is backed by a file, and ends the whole process when one that wraps such a Blob is read elsewhere.
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
      say({ type: 'read', id, start, end });
    });
    if (!bytes) throw new UnreadableFile('Its content is not available any more.');
    return new Uint8Array(bytes);
  }
}

guardMemory(limits.memoryMiB * 1024 * 1024, () => say({ type: 'out of memory' }));

try {
  say({ type: 'described', content: await describeFile(new RemoteFile(), limits) });
} catch (error) {
  if (error instanceof UnreadableFile) say({ type: 'unreadable', reason: error.message });
  else {
    const missingLibrary = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
    say({
      type: 'failed',
      cause: error instanceof Error ? (error.stack ?? error.message) : String(error),
      missingLibrary,
    });
  }
}
