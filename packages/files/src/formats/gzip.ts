import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { bytesOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import { fileTypeOf } from '../file-type.js';
import type { FilesLimits } from '../files-limits.js';
import { bytes, compressionOf, opening } from '../markdown.js';
import { unpackedTooMuch, untilStopped } from '../reading-stopped.js';
import { UnreadableFile } from '../unreadable-file.js';
import type { DescribeContained } from './contained-files.js';
import { headingOf } from './findings.js';
import type { Findings } from './findings.js';
import { decoderOf } from './code-pages.js';
import { certainEncoding, guessedEncoding, guessNote, typeInside } from './encoding.js';
import { kindByBytes, NOT_READ } from './kinds-by-bytes.js';
import { describeTar } from './tar.js';

/** Unpacked bytes that show what is inside. The signature of a tar archive is in its first 512 bytes. */
const HEAD = 4096;

/** Describes a gzip file (RFC 1952) while it is unpacked: a tar archive by its entries, other files by their size. */
export async function* describeGzip(
  file: FileSource,
  limits: FilesLimits,
  describe: DescribeContained,
): Findings {
  const unpacked = new Unpacked(file, limits.expandedMiB * 1024 * 1024);
  const head = await unpacked.head();
  const type = await fileTypeOf(head);
  if (type?.mime === 'application/x-tar') {
    const heading = headingOf('tar archive, compressed with gzip', file);
    const source = { file, chunks: unpacked.all(), heading, packed: file.size };
    return yield* describeTar(source, limits, describe);
  }
  const stopped = await untilStopped(() => unpacked.drain());
  const size = `${stopped ? 'More than ' : ''}${bytes(unpacked.size)} unpacked`;
  const parts = [`${size}${compressionOf(unpacked.size, file.size)}.`];
  const certain = certainEncoding(typeInside(file.mimeType), head, unpacked.size <= head.length);
  // Some of the signatures are letters, with which a text may begin too.
  const kind = certain ? undefined : kindByBytes(head);
  const encoding = certain ?? (kind || type ? undefined : await guessedEncoding(head));
  if (kind) parts[0] += ` Inside: ${kind.title}. ${NOT_READ} ${kind.hint}`;
  else if (type) parts[0] += ` Inside: ${type.mime}.`;
  else if (encoding && head.length > 0) {
    const text = decoderOf(encoding.label).decode(head, { stream: true });
    parts[0] += [` Inside: text, ${encoding.name}.`, ...guessNote(encoding)].join(' ');
    parts.push(opening(text, unpacked.size <= head.length));
  }
  yield `${headingOf('gzip file', file)}${parts.join('\n\n')}`;
  if (stopped) throw stopped;
}

/** The unpacked content of a gzip file, from its beginning. */
export function gunzipped(file: FileSource, limits: FilesLimits): AsyncGenerator<Uint8Array> {
  return new Unpacked(file, limits.expandedMiB * 1024 * 1024).all();
}

/** The first unpacked bytes of a gzip file. */
export function headOfGzip(file: FileSource, limits: FilesLimits): Promise<Uint8Array> {
  return new Unpacked(file, limits.expandedMiB * 1024 * 1024).head();
}

/** The content of a gzip file, whose first bytes can be read before the rest. */
class Unpacked {
  /** Bytes unpacked so far. */
  size = 0;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #held: Uint8Array[] = [];

  constructor(
    file: FileSource,
    private readonly maxBytes: number,
  ) {
    this.#chunks = this.#unpack(file);
  }

  async head(): Promise<Uint8Array> {
    while (this.size < HEAD) {
      const next = await this.#chunks.next();
      if (next.done) break;
      this.#held.push(next.value);
    }
    return Buffer.concat(this.#held).subarray(0, HEAD);
  }

  async *all(): AsyncGenerator<Uint8Array> {
    yield* this.#held.splice(0);
    yield* { [Symbol.asyncIterator]: () => this.#chunks };
  }

  /** Reads to the end to find the size. */
  async drain(): Promise<void> {
    while (!(await this.#chunks.next()).done);
  }

  async *#unpack(file: FileSource): AsyncGenerator<Uint8Array> {
    const source = Readable.from(bytesOf(file), { objectMode: false });
    const gunzip = createGunzip({ chunkSize: 64 * 1024 });
    source.on('error', (error) => gunzip.destroy(error));
    try {
      for await (const chunk of source.pipe(gunzip)) {
        if (this.size + (chunk as Buffer).length > this.maxBytes) throw unpackedTooMuch(this.maxBytes);
        this.size += (chunk as Buffer).length;
        file.checkTime();
        yield chunk as Buffer;
      }
    } catch (error) {
      throw explain(error);
    } finally {
      source.destroy();
    }
  }
}

function explain(error: unknown): unknown {
  const problem = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (problem === 'Z_BUF_ERROR') return new UnreadableFile('This gzip file is cut off: its end is missing.');
  if (problem.startsWith('Z_')) return new UnreadableFile('This gzip file is broken.');
  return error;
}
