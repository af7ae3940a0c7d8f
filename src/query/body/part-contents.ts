import { Base64Fault } from './base64-decoder.js';
import { limitExceeded } from '../contract/refusals.js';
import { FileContent } from '../files/content.js';
import type { BodyLimits } from '../options/table.js';

const CLOSE_ARRAY = 0x5d;
const CLOSE_OBJECT = 0x7d;

/** How many arrays and objects are around a value: the members of the body, the parts, the members of a part. */
const IN_BODY = 1;
const IN_PARTS = 2;
const IN_PART = 3;

/**
 * Tracks where in the query the scanner is, counts the parts, and keeps the content of each part.
 *
 * Of several members with one name the last one counts, as in `JSON.parse`.
 */
export class PartContents {
  /** Index of the part that the scanner is in, or was in last. */
  partIndex = -1;
  /** The bytes that close the open arrays and objects, the innermost last. */
  private readonly closers: number[] = [];
  /** The number of values so far. */
  private values = 0;
  private inParts = false;
  /** The name of the latest member, if names matter there. */
  private member = '';
  private readonly contents: (FileContent | Base64Fault | undefined)[] = [];

  /** @param drop called with each content that a later member replaces */
  constructor(
    private readonly limits: BodyLimits,
    private readonly drop: (content: FileContent) => void,
  ) {}

  /** The byte that closes the innermost array or object; undefined outside of all. */
  get closer(): number | undefined {
    return this.closers[this.closers.length - 1];
  }

  /** True if the names of members matter in the object that the scanner is in. */
  get namesMatter(): boolean {
    const depth = this.closers.length;
    return depth === IN_BODY || (depth === IN_PART && this.inParts);
  }

  /** The member of a part whose value comes next, if it is `text` or `base64`. */
  get partMember(): 'text' | 'base64' | undefined {
    if (this.closers.length !== IN_PART || !this.inParts || this.closer !== CLOSE_OBJECT) return undefined;
    return this.member === 'text' || this.member === 'base64' ? this.member : undefined;
  }

  /** A member begins, where names matter. Contents of an earlier member of the same name are dropped. */
  beginMember(name: string): void {
    this.member = name;
    if (this.closers.length === IN_BODY && name === 'parts') {
      this.contents.forEach((_, part) => this.replace(part, undefined));
      this.partIndex = -1;
    }
    if (this.closers.length === IN_PART && name === 'base64') this.replace(this.partIndex, undefined);
  }

  /**
   * A value begins.
   *
   * @throws {QueryError} `limit_exceeded`
   */
  beginValue(): void {
    if (++this.values > this.limits.values) throw limitExceeded('values', this.limits.values);
    if (!this.inParts || this.closers.length !== IN_PARTS) return;
    this.partIndex++;
    if (this.partIndex >= this.limits.parts) throw limitExceeded('parts', this.limits.parts, this.partIndex);
  }

  /**
   * An array or object begins.
   *
   * @param closer the byte that closes it
   * @throws {QueryError} `limit_exceeded`
   */
  open(closer: number): void {
    const depth = this.closers.length;
    if (depth >= this.limits.depth) throw limitExceeded('depth', this.limits.depth);
    if (depth === IN_BODY && closer === CLOSE_ARRAY && this.closer === CLOSE_OBJECT) {
      this.inParts = this.member === 'parts';
    }
    this.closers.push(closer);
  }

  /** The innermost array or object ends. */
  close(): void {
    this.closers.pop();
    if (this.closers.length === IN_BODY) this.inParts = false;
  }

  /** Sets the `base64` of the current part. */
  set(content: FileContent | Base64Fault): void {
    this.replace(this.partIndex, content);
  }

  /**
   * Puts the contents into the document, in the places of their `base64`. A part that is not a file loses its `base64`.
   *
   * @param document what `JSON.parse` returned for the body, in which each content is an empty string
   */
  insertInto(document: unknown): FileContent[] {
    const inserted: FileContent[] = [];
    this.contents.forEach((content, index) => {
      if (content === undefined) return;
      const part = (document as { parts: Record<string, unknown>[] }).parts[index]!;
      if (part['type'] !== 'file') {
        delete part['base64'];
        this.replace(index, undefined);
        return;
      }
      part['base64'] = content;
      if (content instanceof FileContent) inserted.push(content);
    });
    return inserted;
  }

  private replace(part: number, content: FileContent | Base64Fault | undefined): void {
    const former = this.contents[part];
    if (former instanceof FileContent) this.drop(former);
    this.contents[part] = content;
  }
}
