import { Busboy } from '@fastify/busboy';
import type { IncomingHttpHeaders } from 'node:http';
import { MIMEType } from 'node:util';
import { QueryError } from '../contract/errors.js';
import { limitExceeded } from '../contract/refusals.js';
import type { BodyContents, ContentWriter } from '../files/body-contents.js';

/** What a form may have besides its file. */
export const FORM_BYTES = 64 * 1024;

/** What follows a boundary: the end of its line, perhaps after spaces; behind the last part `--` before it (RFC 2046 §5.1.1). */
const AFTER_BOUNDARY = /^(?:--)?[\t\r ]/;

/** Parts of the form besides the file are ignored: none of them is kept in memory. */
const LIMITS = { files: 1, fields: 0, parts: 100, headerPairs: 100, headerSize: 16 * 1024 };

/** A file that arrives in a form (`multipart/form-data`, RFC 7578): the only one of the form. */
export class MultipartFile {
  name: string | undefined;
  mimeType: string | undefined;
  writer: ContentWriter | undefined;
  readonly #parser: InstanceType<typeof Busboy>;
  readonly #lines: BoundaryLines;
  #bytes = 0;
  #fileBytes = 0;
  #failure: Error | undefined;
  #fail: (error: Error) => void = () => undefined;

  /** @throws {QueryError} `invalid_query`: the header has no boundary */
  constructor(
    headers: IncomingHttpHeaders,
    private readonly contents: BodyContents,
  ) {
    const isPartAFile = (_: unknown, type?: string, name?: string) =>
      name !== undefined || type === 'application/octet-stream';
    try {
      const config = { headers: headers as never, limits: LIMITS, preservePath: true, isPartAFile };
      this.#parser = new Busboy(config);
      this.#lines = new BoundaryLines(new MIMEType(headers['content-type']!).params.get('boundary')!);
    } catch {
      throw malformed('The header Content-Type has no boundary');
    }
    this.#parser.on('error', () => this.#refuse(malformed('The form is cut off, or malformed')));
    this.#parser.on('filesLimit', () => this.#refuse(malformed('The form has several files')));
    this.#parser.on('partsLimit', () => this.#refuse(malformed('The form has too many parts')));
    this.#parser.on('file', (_, stream, name: string | undefined, _encoding, mimeType) => {
      this.name = name;
      this.mimeType = mimeType;
      this.writer = contents.begin();
      stream.on('error', () => undefined).on('data', (bytes: Buffer) => this.#add(bytes));
    });
  }

  /** Takes the next bytes of the form. @throws {QueryError} `limit_exceeded` · `invalid_query`: it is malformed */
  take(bytes: Buffer): Promise<void> {
    this.#checkRest();
    this.#bytes += bytes.length;
    this.#lines.check(bytes);
    return this.#until((done) => void this.#parser.write(bytes, done));
  }

  /** Takes the end of the form. @throws {QueryError} `limit_exceeded` · `invalid_query`: it is malformed, or has no file */
  async end(): Promise<void> {
    this.#checkRest();
    await this.#until((done) => void this.#parser.once('finish', done).end());
    if (!this.writer) throw malformed('The form has no file');
  }

  async #until(step: (done: () => void) => void): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#fail = reject;
      if (this.#failure) reject(this.#failure);
      else step(resolve);
    });
    if (this.#failure) throw this.#failure;
    if (this.contents.isCongested) await this.contents.settled();
  }

  /** Of the bytes so far, the file has got its own. */
  #checkRest(): void {
    if (this.#bytes - this.#fileBytes > FORM_BYTES) throw limitExceeded('documentBytes', FORM_BYTES);
  }

  #add(bytes: Buffer): void {
    if (this.#failure) return;
    this.#fileBytes += bytes.length;
    try {
      this.writer!.add(bytes);
    } catch (error) {
      this.#refuse(error as Error);
    }
  }

  #refuse(error: Error): void {
    this.#failure ??= error;
    this.#fail(error);
  }
}

/** Refuses a line that only begins with the boundary: the parser would end the file there. */
class BoundaryLines {
  readonly #boundary: Buffer;
  /** The last bytes, in which a boundary and what follows it may have begun. The first line has no end of a line before it. */
  #last = Buffer.from('\r\n');

  constructor(boundary: string) {
    this.#boundary = Buffer.from(`\r\n--${boundary}`);
  }

  /** Takes the next bytes of the form. */
  check(bytes: Buffer): void {
    const all = Buffer.concat([this.#last, bytes]);
    const { length } = this.#boundary;
    for (let at = all.indexOf(this.#boundary); at >= 0; at = all.indexOf(this.#boundary, at + 1)) {
      const after = all.toString('latin1', at + length, at + length + 3);
      if (after.length === 3 && !AFTER_BOUNDARY.test(after))
        throw malformed('A line of the form begins with the boundary');
    }
    this.#last = all.subarray(Math.max(0, all.length - length - 2));
  }
}

function malformed(what: string): QueryError {
  return new QueryError(
    'invalid_query',
    `${what}. Send one file in multipart/form-data, or its bytes alone.`,
  );
}
