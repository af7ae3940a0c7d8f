import { Base64Fault } from './base64-decoder.js';
import { FileContent } from '../files/contents.js';
import { limitExceeded, type BodyLimits } from './limits.js';

const CLOSE_ARRAY = 0x5d;
const CLOSE_OBJECT = 0x7d;

/** Depths of the value of `parts` and of the members of a part, as the number of arrays and objects around them. */
const IN_BODY = 1;
const IN_PARTS = 2;
const IN_PART = 3;

/**
 * Follows where in the query the scanner is, counts its parts, and keeps which part has which content.
 *
 * As in `JSON.parse`, the last of several members with one name is the one that counts.
 */
export class PartContents {
  /** The part that the scanner is in, or was in last. */
  index = -1;
  /** The closing bytes that are due, the innermost last. */
  private readonly closers: number[] = [];
  private inParts = false;
  /** The name of the latest member, where names matter. */
  private member = '';
  private readonly found: (FileContent | Base64Fault | undefined)[] = [];

  /**
   * @param limits for `parts` and `depth`
   * @param drop called with each content that a later member replaces
   */
  constructor(
    private readonly limits: BodyLimits,
    private readonly drop: (content: FileContent) => void,
  ) {}

  /** The byte that closes the innermost array or object; undefined outside of all. */
  get closer(): number | undefined {
    return this.closers[this.closers.length - 1];
  }

  /** Whether the members of the object that the scanner is in have names that matter. */
  get namesMatter(): boolean {
    const depth = this.closers.length;
    return depth === IN_BODY || (depth === IN_PART && this.inParts);
  }

  /** The member of a part whose value comes next, if it is `text` or `base64`. */
  get partMember(): 'text' | 'base64' | undefined {
    if (this.closers.length !== IN_PART || !this.inParts || this.closer !== CLOSE_OBJECT) return undefined;
    return this.member === 'text' || this.member === 'base64' ? this.member : undefined;
  }

  /** The name of a member, where names matter. */
  name(name: string): void {
    this.member = name;
    if (this.closers.length === IN_BODY && name === 'parts') {
      this.found.forEach((_, index) => this.set(index, undefined));
      this.index = -1;
    }
    if (this.closers.length === IN_PART && name === 'base64') this.set(this.index, undefined);
  }

  /** A value begins. Throws QueryError `limit_exceeded`. */
  value(): void {
    if (!this.inParts || this.closers.length !== IN_PARTS) return;
    this.index++;
    if (this.index >= this.limits.parts) throw limitExceeded('parts', this.limits.parts, this.index);
  }

  /** An array or object begins. Throws QueryError `limit_exceeded`. */
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

  /** The `base64` of the part at hand. */
  add(content: FileContent | Base64Fault): void {
    this.set(this.index, content);
  }

  /**
   * Puts the contents where they stood in the document. A part that is no file loses its `base64`.
   *
   * @param document what `JSON.parse` made of the body, each content being a string in it
   * @returns the contents that were put
   */
  putInto(document: unknown): FileContent[] {
    const kept: FileContent[] = [];
    this.found.forEach((content, index) => {
      if (content === undefined) return;
      const part = (document as { parts: Record<string, unknown>[] }).parts[index]!;
      if (part['type'] !== 'file') {
        delete part['base64'];
        this.set(index, undefined);
        return;
      }
      part['base64'] = content;
      if (content instanceof FileContent) kept.push(content);
    });
    return kept;
  }

  private set(index: number, content: FileContent | Base64Fault | undefined): void {
    const former = this.found[index];
    if (former instanceof FileContent) this.drop(former);
    this.found[index] = content;
  }
}
