import { limitExceeded } from '../contract/refusals.js';
import { BodyContent } from '../files/content.js';
import type { BodyLimits } from '../options/table.js';
import { Base64Fault } from './base64-decoder.js';
import { DataUrl } from './data-url.js';
import type { BodyPlace } from './places.js';

type Container = unknown[] | Record<string, unknown>;
type Part = { type?: unknown; base64?: unknown };

/**
 * Builds the value of a document from its tokens, with the outcome of `JSON.parse`, and knows at which place the next token is.
 * Each step is done when its bytes arrive: `JSON.parse` on the whole text would hold the event loop, for 100 ms where 16 MiB are
 * many small members.
 *
 * Of several members with one name the last one counts, as in `JSON.parse`.
 */
export class JsonDocument {
  /** The document, when it is complete. */
  #value: unknown;
  /** The open arrays and objects, the innermost last. */
  readonly #containers: Container[] = [];
  /** The name of the latest member of each open object. */
  readonly #names: string[] = [];
  /** The places of the open arrays and objects; undefined where nothing is said about what is inside. */
  readonly #places: (BodyPlace | undefined)[] = [];
  #values = 0;
  readonly #contents = new Set<BodyContent>();

  constructor(
    private readonly limits: BodyLimits,
    private readonly body: BodyPlace,
    private readonly drop: (content: BodyContent) => void,
  ) {}

  /** The innermost array or object; undefined outside of all. */
  get container(): Container | undefined {
    return this.#containers[this.#containers.length - 1];
  }

  /** The place of the next value; undefined if nothing is said about it. */
  get place(): BodyPlace | undefined {
    const depth = this.#containers.length;
    if (depth === 0) return this.body;
    const place = this.#places[depth - 1];
    if (place === undefined) return undefined;
    return Array.isArray(this.container) ? place.items : place.members?.get(this.#names[depth - 1]!);
  }

  /** The JSON Pointer of the member whose value comes next, or is open (RFC 6901). */
  get pointer(): string {
    return this.#containers
      .map((container, depth) => (Array.isArray(container) ? container.length : this.#names[depth]!))
      .map((name, depth, all) => (typeof name === 'number' && depth < all.length - 1 ? name - 1 : name))
      .map((name) => `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`)
      .join('');
  }

  /** A value begins. @throws {QueryError} `limit_exceeded` */
  beginValue(): void {
    const { values, parts } = this.limits;
    if (++this.#values > values) throw limitExceeded('values', values);
    const isPart = this.#places[this.#places.length - 1]?.hasParts && Array.isArray(this.container);
    if (isPart && this.container.length >= parts) throw limitExceeded('parts', parts, this.pointer);
  }

  /** An array or object begins. @throws {QueryError} `limit_exceeded` */
  open(container: Container): void {
    const { place } = this;
    const containers = this.#containers;
    const names = this.#names;
    const { depth } = this.limits;
    if (containers.length >= depth) throw limitExceeded('depth', depth);
    this.add(container);
    containers.push(container);
    names.push('');
    this.#places.push(place);
  }

  close(): void {
    const container = this.#containers.pop();
    this.#names.pop();
    this.#places.pop();
    if (this.#places[this.#places.length - 1]?.hasParts) this.#closePart(container as Part);
  }

  /** The name of the next member. Contents in an earlier member of this name are dropped. */
  name(name: string): void {
    const depth = this.#containers.length;
    this.#names[depth - 1] = name;
    const container = this.container as Record<string, unknown>;
    if (this.place !== undefined && Object.hasOwn(container, name)) this.#dropIn(container[name]);
  }

  /** The next value: of a string whose place says so, its content or what is wrong with it. */
  add(value: unknown): void {
    const { container } = this;
    const content = value instanceof DataUrl ? value.content : value;
    if (content instanceof BodyContent) this.#contents.add(content);
    if (container === undefined) this.#value = value;
    else if (Array.isArray(container)) container.push(value);
    else setMember(container, this.#names[this.#names.length - 1]!, value);
  }

  /** Ends the document. Returns its value, and the contents in it. */
  end(): { value: unknown; contents: BodyContent[] } {
    return { value: this.#value, contents: [...this.#contents] };
  }

  /** A part that is not a file loses its content. */
  #closePart(part: Part): void {
    const { type, base64 } = part;
    if (type === 'file' || !(base64 instanceof BodyContent || base64 instanceof Base64Fault)) return;
    this.#dropIn(base64);
    delete part.base64;
  }

  #dropIn(value: unknown): void {
    const content = value instanceof DataUrl ? value.content : value;
    if (content instanceof BodyContent) {
      this.#contents.delete(content);
      this.drop(content);
    } else if (typeof content === 'object' && content !== null) {
      for (const inside of Object.values(content)) this.#dropIn(inside);
    }
  }
}

function setMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  // An assignment would set the prototype.
  else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}
