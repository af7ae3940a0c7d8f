import { AgentQueryError } from './agent-query-error.js';
import { unlessAborted } from './signals.js';

/** The content of a file. A string is a path, in Node, Deno and Bun only. */
export type FileContent = Blob | Uint8Array | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array> | string;

/** A file of a query with its labels. */
export interface FileInput {
  /** A name with extension, of at most 255 bytes. Default: that of a `File` or of the path, otherwise `file`. */
  name?: string | undefined;
  /** Default: that of a `Blob`, otherwise `application/octet-stream`. */
  mimeType?: string | undefined;
  content: FileContent;
}

/** A file as it is read while it is sent. */
export interface FileSource {
  name: string;
  mimeType: string;
  /** Bytes, if known before the content is read. */
  size?: number | undefined;
  /** The content, if a browser can send it as it is. */
  blob?: Blob | undefined;
  /** The digest, if the service has the content: the query only names it. */
  sha256?: string | undefined;
  /** Whether the content can be read more than once. */
  isRepeatable: boolean;
  /** Begins to read. */
  read(): AsyncIterator<Uint8Array>;
}

/** Bytes that are read at once. A multiple of 3, so that base64 needs no padding in between. */
const SLICE = 3 * 128 * 1024;

/** @throws {TypeError} the content is of no known kind */
export function sourceOf({ name, mimeType, content }: FileInput): FileSource {
  const source = contentSource(content);
  const own = content as Partial<File>;
  return {
    ...source,
    name: name ?? own.name ?? source.name ?? 'file',
    mimeType: mimeType || own.type || 'application/octet-stream',
  };
}

type Content = Omit<FileSource, 'name' | 'mimeType'> & { name?: string | undefined };

function contentSource(content: FileContent): Content {
  if (typeof content === 'string') return pathSource(content);
  if (content instanceof Blob || content instanceof Uint8Array) {
    const blob = content instanceof Blob ? content : undefined;
    const size = blob ? blob.size : (content as Uint8Array).length;
    return { size, blob, isRepeatable: true, read: () => slicesOf(content, size) };
  }
  if (content instanceof ReadableStream) return { ...ONCE, read: () => chunksOf(content) };
  if (content?.[Symbol.asyncIterator]) return { ...ONCE, read: () => content[Symbol.asyncIterator]() };
  throw new TypeError('The content of a file must be a File, a Blob, bytes, a stream or a path.');
}

const ONCE = { isRepeatable: false };

async function* slicesOf(content: Blob | Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < size; at += SLICE) {
    const slice = content.slice(at, at + SLICE);
    yield slice instanceof Blob ? new Uint8Array(await slice.arrayBuffer()) : slice;
  }
}

/** Not every browser can iterate a stream. */
function chunksOf(stream: ReadableStream<Uint8Array>): AsyncIterator<Uint8Array> {
  const reader = stream.getReader();
  return {
    next: () => reader.read(),
    return: () => reader.cancel().catch(() => undefined),
  } as unknown as AsyncIterator<Uint8Array>;
}

/** No import of `node:fs`: a bundler for browsers would look for it. */
function pathSource(path: string): Content {
  const fs = globalThis.process?.getBuiltinModule?.('node:fs');
  if (!fs) throw new TypeError('Only Node, Deno and Bun read a path. Give a File or a Blob.');
  const name = path.split(/[\\/]/).at(-1);
  try {
    const stats = fs.statSync(path);
    if (stats.isDirectory()) throw new Error('It is a directory.');
    const size = stats.isFile() ? stats.size : undefined;
    const read = () => fs.createReadStream(path, { highWaterMark: SLICE })[Symbol.asyncIterator]();
    return { name, size, isRepeatable: size !== undefined, read };
  } catch (error) {
    throw unreadable(path, error);
  }
}

/**
 * The content as it is read.
 *
 * @throws {AgentQueryError} `file_unreadable` · the reason of `signal`
 */
export async function* bytesOf(source: FileSource, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  let chunks: AsyncIterator<Uint8Array> | undefined;
  const next = async () => {
    try {
      chunks ??= source.read();
      const result = await unlessAborted(chunks.next(), signal);
      if (result.done) return undefined;
      if (!ArrayBuffer.isView(result.value)) throw new TypeError('A chunk of it is no bytes.');
      return result.value;
    } catch (error) {
      signal?.throwIfAborted();
      throw unreadable(source.name, error);
    }
  };
  try {
    for (let value; (value = await next());) yield value;
  } finally {
    await chunks?.return?.();
  }
}

/**
 * The content in base64 (RFC 4648 §4), in pieces that make one text when they are joined.
 *
 * @throws {AgentQueryError} `file_unreadable` · the reason of `signal`
 */
export async function* base64Of(source: FileSource, signal?: AbortSignal): AsyncIterable<string> {
  let rest = new Uint8Array();
  for await (const value of bytesOf(source, signal)) {
    // A copy: the source may use its buffer again.
    const bytes = new Uint8Array(rest.length + value.length);
    bytes.set(rest);
    bytes.set(value, rest.length);
    const whole = bytes.length - (bytes.length % 3);
    for (let at = 0; at < whole; at += SLICE) yield encode(bytes.subarray(at, Math.min(at + SLICE, whole)));
    rest = bytes.subarray(whole);
  }
  if (rest.length > 0) yield encode(rest);
}

function unreadable(name: string, cause: unknown): AgentQueryError {
  const { code, message } = (cause ?? {}) as Partial<NodeJS.ErrnoException>;
  return new AgentQueryError(
    'file_unreadable',
    `The file ${JSON.stringify(name)} cannot be read (${code ?? message ?? String(cause)}).`,
    {
      cause,
    },
  );
}

/** Newer engines encode bytes themselves; Node has its Buffer; the rest has `btoa`. */
function encode(bytes: Uint8Array & { toBase64?(): string }): string {
  if (bytes.toBase64) return bytes.toBase64();
  if (globalThis.Buffer)
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  let binary = '';
  // More arguments at once overflow the stack of some engines.
  for (let at = 0; at < bytes.length; at += 8_192)
    binary += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  return btoa(binary);
}
