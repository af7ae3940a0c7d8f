import { execFile } from 'node:child_process';
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The calls that can fail, in the order of `failing-files.c`. */
export const CALLS = ['open', 'write', 'sync', 'truncate', 'unlink', 'mkdir'];
const EFFECTS = ['fail', 'short', 'torn'];

/** The numbers of `struct control`, which have 8 bytes each. */
const FIELDS = ['call', 'at', 'times', 'error', 'effect', 'injected', ...CALLS];
const NUMBER_BYTES = 8;

/**
 * Compiles the library.
 *
 * @returns its path
 */
export async function compile(directory) {
  const library = join(directory, 'failing-files.so');
  const source = join(import.meta.dirname, 'failing-files.c');
  await promisify(execFile)('cc', ['-shared', '-fPIC', '-O1', '-Wall', '-Werror', '-o', library, source]);
  return library;
}

/** Makes calls of a process fail that concern files under a directory. */
export class FailingFiles {
  constructor(library, directory, controlFile, control) {
    Object.assign(this, { library, directory, controlFile, control });
  }

  static async make(library, directory, controlFile) {
    await writeFile(controlFile, Buffer.alloc(FIELDS.length * NUMBER_BYTES));
    const files = new FailingFiles(library, directory, controlFile, openSync(controlFile, 'r+'));
    files.disarm();
    return files;
  }

  /** The variables of the environment of the process. */
  get env() {
    return {
      LD_PRELOAD: this.library,
      FAILING_FILES_DIRECTORY: this.directory,
      FAILING_FILES_CONTROL: this.controlFile,
      // Node's own calls to the file system go through the library only without it.
      UV_USE_IO_URING: '0',
    };
  }

  /** Counts calls from 1 on. `call` number `at` fails, and the next ones too until `times` have failed. */
  arm({ call, at, times = 1, error = 0, effect = 'fail' }) {
    this.countCalls();
    const fields = { at, times, error, effect: EFFECTS.indexOf(effect) };
    for (const [field, value] of Object.entries(fields)) this.#write(field, value);
    this.#write('call', CALLS.indexOf(call));
  }

  /** Counts calls from 1 on, and lets none fail. */
  countCalls() {
    this.disarm();
    for (const field of ['injected', ...CALLS]) this.#write(field, 0);
  }

  disarm() {
    this.#write('call', -1);
  }

  /** How many calls have failed since `arm`. */
  get injected() {
    return this.#read('injected');
  }

  /** How many calls there were since `arm` or `countCalls`, by their names. */
  get counts() {
    return Object.fromEntries(CALLS.map((call) => [call, this.#read(call)]));
  }

  close() {
    closeSync(this.control);
  }

  #write(field, value) {
    const bytes = Buffer.alloc(NUMBER_BYTES);
    bytes.writeBigInt64LE(BigInt(value));
    writeSync(this.control, bytes, 0, NUMBER_BYTES, FIELDS.indexOf(field) * NUMBER_BYTES);
  }

  #read(field) {
    const bytes = Buffer.alloc(NUMBER_BYTES);
    readSync(this.control, bytes, 0, NUMBER_BYTES, FIELDS.indexOf(field) * NUMBER_BYTES);
    return Number(bytes.readBigInt64LE());
  }
}
