import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { Query } from '../../query/index.js';

/** A query as the body of a request. Files are encoded while the body is read. */
export class RequestBody {
  readonly #pieces: (Buffer | File)[] = [];
  /** Bytes of the whole body. */
  readonly length: number;

  /** @param owner of the run */
  constructor({ parts, kwargs }: Query, owner: string) {
    let text = '{"parts":[';
    for (const [index, part] of parts.entries()) {
      if (index > 0) text += ',';
      if (part.type === 'text') {
        text += JSON.stringify({ type: 'text', text: part.text });
        continue;
      }
      const { name, mimeType, file } = part;
      const head = JSON.stringify({ type: 'file', name, mimeType, base64: '' });
      this.#pieces.push(Buffer.from(text + head.slice(0, -2)), file);
      text = '"}';
    }
    this.#pieces.push(Buffer.from(`${text}],"kwargs":${JSON.stringify(remoteKwargs(kwargs, owner))}}`));
    this.length = this.#pieces.reduce((sum, piece) => sum + bytesOf(piece), 0);
  }

  /** The bytes. They can be read any number of times. */
  async *bytes(): AsyncGenerator<Buffer> {
    for (const piece of this.#pieces) {
      if (Buffer.isBuffer(piece)) yield piece;
      else yield* base64Of(piece);
    }
  }
}

function bytesOf(piece: Buffer | File): number {
  return Buffer.isBuffer(piece) ? piece.length : 4 * Math.ceil(piece.size / 3);
}

/** Three bytes become four characters: what is left of a chunk goes before the next one. */
async function* base64Of(file: File): AsyncGenerator<Buffer> {
  let rest: Uint8Array = new Uint8Array();
  for await (const chunk of file.stream() as AsyncIterable<Uint8Array>) {
    const bytes =
      rest.length > 0
        ? Buffer.concat([rest, chunk])
        : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    const whole = bytes.length - (bytes.length % 3);
    if (whole > 0) yield Buffer.from(bytes.toString('base64', 0, whole), 'latin1');
    rest = bytes.subarray(whole);
  }
  if (rest.length > 0) yield Buffer.from(Buffer.from(rest).toString('base64'), 'latin1');
}

/**
 * To the remote service all owners are one caller, so a session id of one owner must not name the session of another. The ids
 * of owners with a name become digests. An anonymous id that looks like one becomes a digest too.
 */
function remoteKwargs(kwargs: Query['kwargs'], owner: string): Query['kwargs'] {
  const { session_id: id } = kwargs;
  if (typeof id !== 'string' || (owner === 'anonymous' && !/^[0-9a-f]{64}$/.test(id))) return kwargs;
  return { ...kwargs, session_id: createHash('sha256').update(`${owner}\0${id}`).digest('hex') };
}
