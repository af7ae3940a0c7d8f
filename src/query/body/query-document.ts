import { limitExceeded } from '../contract/refusals.js';
import { FileContent } from '../files/content.js';
import type { BodyLimits } from '../options/table.js';
import { Base64Fault } from './base64-decoder.js';

type Container = unknown[] | Record<string, unknown>;
type Part = { type?: unknown; base64?: unknown } | null;

/** How many arrays and objects are around a value: the members of the body, the parts, the members of a part. */
const IN_BODY = 1;
const IN_PARTS = 2;
const IN_PART = 3;

/**
 * Builds the value of a query's document from its tokens, with the outcome of `JSON.parse`, and knows where in the query the next
 * token is. Each step is done when its bytes arrive: `JSON.parse` on the whole text would hold the event loop, for 100 ms where
 * 16 MiB are many small members.
 *
 * Of several members with one name the last one counts, as in `JSON.parse`.
 */
export class QueryDocument {
  /** The document, when it is complete. */
  private value: unknown;
  /** The open arrays and objects, the innermost last. */
  private readonly containers: Container[] = [];
  /** The name of the latest member of each open object. */
  private readonly names: string[] = [];
  /** The array `parts` of the body, while it is open. */
  private parts: unknown[] | undefined;
  private values = 0;

  constructor(
    private readonly limits: BodyLimits,
    private readonly drop: (content: FileContent) => void,
  ) {}

  /** The innermost array or object; undefined outside of all. */
  get container(): Container | undefined {
    return this.containers[this.containers.length - 1];
  }

  /** The member of a part whose value comes next, if it is `text` or `base64`. */
  get partMember(): 'text' | 'base64' | undefined {
    if (!this.parts || this.containers.length !== IN_PART) return undefined;
    const name = this.names[IN_PART - 1];
    return name === 'text' || name === 'base64' ? name : undefined;
  }

  /** Index of the part that the next token belongs to. */
  get partIndex(): number {
    return this.parts!.length - 1;
  }

  /** A value begins. @throws {QueryError} `limit_exceeded` */
  beginValue(): void {
    const { values, parts } = this.limits;
    if (++this.values > values) throw limitExceeded('values', values);
    const isPart = this.parts && this.containers.length === IN_PARTS;
    if (isPart && this.parts!.length >= parts) throw limitExceeded('parts', parts, this.parts!.length);
  }

  /** An array or object begins. @throws {QueryError} `limit_exceeded` */
  open(container: Container): void {
    const { containers, names } = this;
    const { depth } = this.limits;
    if (containers.length >= depth) throw limitExceeded('depth', depth);
    if (containers.length === IN_BODY && names[0] === 'parts' && Array.isArray(container))
      this.parts = container;
    this.add(container);
    containers.push(container);
    names.push('');
  }

  close(): void {
    this.containers.pop();
    this.names.pop();
    if (this.containers.length === IN_BODY) this.parts = undefined;
  }

  /** The name of the next member. A content in an earlier member of this name is dropped. */
  name(name: string): void {
    const depth = this.containers.length;
    this.names[depth - 1] = name;
    if (depth === IN_BODY && name === 'parts')
      for (const part of partsOf(this.container)) this.dropContent(part);
    if (depth === IN_PART && name === 'base64' && this.parts) this.dropContent(this.container as Part);
  }

  /** The next value. The `base64` of a part is a content or a fault. */
  add(value: unknown): void {
    const { container } = this;
    if (container === undefined) this.value = value;
    else if (Array.isArray(container)) container.push(value);
    else setMember(container, this.names[this.names.length - 1]!, value);
  }

  /** Ends the document: a part that is not a file loses its `base64`. Returns the value, and the contents in it. */
  end(): { value: unknown; contents: FileContent[] } {
    const contents: FileContent[] = [];
    for (const part of partsOf(this.value)) {
      const base64 = part?.base64;
      if (!(base64 instanceof FileContent || base64 instanceof Base64Fault)) continue;
      if (part!.type !== 'file') {
        this.dropContent(part);
        delete part!.base64;
      } else if (base64 instanceof FileContent) {
        contents.push(base64);
      }
    }
    return { value: this.value, contents };
  }

  private dropContent(part: Part): void {
    if (part?.base64 instanceof FileContent) this.drop(part.base64);
  }
}

function partsOf(body: unknown): Part[] {
  const parts = (body as { parts?: unknown } | null | undefined)?.parts;
  return Array.isArray(parts) ? (parts as Part[]) : [];
}

function setMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  // An assignment would set the prototype.
  else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}
