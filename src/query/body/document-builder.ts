import { StringDecoder } from 'node:string_decoder';

type Container = unknown[] | Record<string, unknown>;

/**
 * Builds the value of a document from its tokens, with the outcome of `JSON.parse`. It does the work of each chunk when the chunk
 * arrives: `JSON.parse` on the whole text would hold the event loop, for 100 ms where 16 MiB are many small members.
 */
export class DocumentBuilder {
  /** The document, when it is complete. */
  value: unknown;
  /** The open arrays and objects, the innermost last. */
  private readonly containers: Container[] = [];
  /** The name of the latest member of each open object. */
  private readonly names: string[] = [];

  /** An array or object begins. */
  open(container: Container): void {
    this.add(container);
    this.containers.push(container);
    this.names.push('');
  }

  /** The innermost array or object ends. */
  close(): void {
    this.containers.pop();
    this.names.pop();
  }

  /** The name of the next member. */
  name(name: string): void {
    this.names[this.names.length - 1] = name;
  }

  /** The next value. */
  add(value: unknown): void {
    const container = this.containers[this.containers.length - 1];
    if (container === undefined) this.value = value;
    else if (Array.isArray(container)) container.push(value);
    else setMember(container, this.names[this.names.length - 1]!, value);
  }
}

function setMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  // An assignment would set the prototype.
  else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}

/** The text of a string or number whose bytes come in pieces. */
export class TokenText {
  private decoded = '';
  /** The beginning of an escape whose rest has not come. */
  private unfinished = '';
  /** Created for the first character that is not ASCII. */
  private decoder: StringDecoder | undefined;

  /**
   * Adds `bytes[from..to)`.
   *
   * @param ascii whether all bytes of the token are ASCII so far
   * @param escaped whether these bytes may contain an escape, or a part of one
   * @param escaping whether they end within an escape
   */
  append(bytes: Buffer, from: number, to: number, ascii: boolean, escaped: boolean, escaping: boolean): void {
    const piece = ascii ? bytes.toString('latin1', from, to) : this.decode(bytes.subarray(from, to));
    const text = escaped ? this.unescaped(this.unfinished + piece, escaping) : piece;
    this.decoded = this.decoded === '' ? text : this.decoded + text;
  }

  /** Returns the text, and begins the next one. */
  take(): string {
    const { decoded } = this;
    this.decoded = '';
    return decoded;
  }

  private decode(bytes: Buffer): string {
    this.decoder ??= new StringDecoder('utf8');
    return this.decoder.write(bytes);
  }

  private unescaped(text: string, escaping: boolean): string {
    const end = escaping ? text.lastIndexOf('\\') : text.length;
    this.unfinished = text.slice(end);
    return JSON.parse(`"${text.slice(0, end)}"`) as string;
  }
}
