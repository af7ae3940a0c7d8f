import { open, stat } from 'node:fs/promises';
import { Logger } from '@nestjs/common';
import { type ApiKey, apiKeysOfFile } from './api-key.js';

/** How often the file is looked at, in milliseconds. A change is read at the second look that finds it unchanged. */
const LOOK_MS = 250;

/** A file of keys may not be larger: a wrong path must not fill the memory. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * A file of API keys that is read again when it changes. The path is looked at, not the file behind it: a file that is renamed
 * over it and a symbolic link that is set anew, as Kubernetes does, are changes too.
 */
export class KeysFile {
  readonly #logger = new Logger('Access');
  #timer: NodeJS.Timeout | undefined;
  /** What the file looked like when it was last read, and at the last look. */
  #read = '';
  #seen = '';
  #isLooking = false;

  private constructor(
    private readonly path: string,
    private readonly take: (keys: ApiKey[]) => void,
  ) {}

  /**
   * Reads the file, and watches it until it is closed.
   *
   * @param path the path of the file
   * @param take gets the keys of the file now and after each change; what it throws makes the contents faulty
   * @throws {TypeError} the file cannot be read or its contents are faulty. The message has no part of the contents
   */
  static async open(path: string, take: (keys: ApiKey[]) => void): Promise<KeysFile> {
    const file = new KeysFile(path, take);
    try {
      file.#seen = await looksOf(path);
      await file.#readKeys();
    } catch (error) {
      throw unusable(path, error);
    }
    file.#timer = setInterval(() => void file.#look(), LOOK_MS).unref();
    return file;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** A file that has just changed is not read yet: its writer may not have finished. */
  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const looks = await looksOf(this.path).catch(
        (error: NodeJS.ErrnoException) => `not readable: ${error.code}`,
      );
      const isSettled = looks === this.#seen;
      this.#seen = looks;
      if (isSettled && looks !== this.#read) await this.#readAgain();
    } finally {
      this.#isLooking = false;
    }
  }

  async #readAgain(): Promise<void> {
    try {
      const count = await this.#readKeys();
      this.#logger.log(`The file of API keys has changed, and was read: ${count} keys.`);
    } catch (error) {
      // Not again before the next change.
      this.#read = this.#seen;
      this.#logger.error(
        `The file of API keys has changed, and ${whatIsWrong(error)} The keys that were valid before stay valid.`,
      );
    }
  }

  async #readKeys(): Promise<number> {
    const looks = this.#seen;
    const keys = apiKeysOfFile(await contentsOf(this.path));
    this.take(keys);
    this.#read = looks;
    if (keys.length === 0) this.#logger.warn('The file of API keys has no key.');
    return keys.length;
  }
}

/**
 * Reads a file of API keys once: one `name:sha256` or `name:sha256:2027-01-31` in each line. A line that is blank or begins with
 * `#` is ignored.
 *
 * @param path the path of the file
 * @throws {TypeError} the file cannot be read or its contents are faulty. The message has no part of the contents
 *
 * @example
 * AccessModule.forRootAsync({ useFactory: async () => ({ keys: await readKeysFile('/run/secrets/keys') }) })
 */
export async function readKeysFile(path: string): Promise<ApiKey[]> {
  try {
    return apiKeysOfFile(await contentsOf(path));
  } catch (error) {
    throw unusable(path, error);
  }
}

function unusable(path: string, error: unknown): TypeError {
  return new TypeError(`The file of API keys ${JSON.stringify(path)} ${whatIsWrong(error)}`, {
    cause: error,
  });
}

/** What changes when the file changes: also if another file has the same size and time. */
async function looksOf(path: string): Promise<string> {
  const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
  return [dev, ino, size, mtimeNs, ctimeNs].join();
}

async function contentsOf(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size > MAX_BYTES) throw new TypeError(`it has more than ${MAX_BYTES} bytes.`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** The rest of a sentence about the file. Errors of the file system contain its path, faults only numbers of lines. */
function whatIsWrong(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== undefined) return `cannot be read (${code}).`;
  return `is faulty: ${(error as Error).message}`;
}
