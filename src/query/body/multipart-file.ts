import { Busboy } from '@fastify/busboy';
import type { IncomingHttpHeaders } from 'node:http';
import { QueryError } from '../contract/errors.js';
import type { BodyContents, ContentWriter } from '../files/body-contents.js';

/** Parts of the form besides the file are ignored: none of them is kept in memory. */
const LIMITS = { files: 1, fields: 0, parts: 100, headerPairs: 100, headerSize: 16 * 1024 };

/** A file that arrives in a form (`multipart/form-data`, RFC 7578): the only one of the form. */
export class MultipartFile {
  name: string | undefined;
  mimeType: string | undefined;
  writer: ContentWriter | undefined;
  readonly #parser: InstanceType<typeof Busboy>;
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

  /** Takes the next bytes of the form. */
  take(bytes: Buffer): Promise<void> {
    return this.#until((done) => void this.#parser.write(bytes, done));
  }

  /** Takes the end of the form. @throws {QueryError} `invalid_query`: it is malformed, or has no file */
  async end(): Promise<void> {
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

  #add(bytes: Buffer): void {
    if (this.#failure) return;
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

function malformed(what: string): QueryError {
  return new QueryError(
    'invalid_query',
    `${what}. Send one file in multipart/form-data, or its bytes alone.`,
  );
}
