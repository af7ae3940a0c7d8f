import { plain } from '../markdown.js';

/** Levels of nesting that are read; deeper JSON is refused. */
const DEEPEST = 1000;
/** Levels of nesting that are described. */
const DESCRIBED_DEPTH = 8;
/** Keys of one object that are described, at most. */
const KEYS = 50;
/** Characters of a key. */
const LONGEST_KEY = 1000;
/** Tables of one value, at most. */
const TABLES = 1000;
/** Nodes of the whole description, at most. */
const NODES = 1000;
/** Lines that are shown, at most. */
const LINES = 80;

/** All values found at one path: at the top, under one key, or within one array. */
interface Node {
  types: Set<string>;
  objects: number;
  fields: Map<string, { times: number; node: Node | undefined }>;
  /** Whether there were more keys than are described. */
  moreFields: boolean;
  shortest: number;
  longest: number;
  items: Node | undefined;
}

interface Level {
  isArray: boolean;
  node: Node | undefined;
  length: number;
  /** Items that are objects. */
  objects: number;
  /** The key of the next value. */
  key: string;
  /** The node of the next value. */
  next: Node | undefined;
  /** Where it begins. */
  start: number;
}

/** An array of objects that is reached through objects only. */
export interface JsonTable {
  /** The keys that lead to it. */
  path: string[];
  /** Its first byte, and the one after its last; the latter is undefined if it has no end. */
  start: number;
  end: number | undefined;
}

/**
 * Collects the shape of JSON from the beginnings and ends of its values. Its memory is bounded: it grows with the number of
 * different keys, up to a limit, and never with the number of values.
 */
export class JsonShape {
  /** Complete values at the top, and how many of them are objects. */
  values = 0;
  objects = 0;
  /** The tables of the first value. */
  readonly tables: JsonTable[] = [];
  readonly #root = { left: NODES };
  readonly #top: Node = newNode();
  readonly #levels: Level[] = [];

  /** Whether a value has begun. */
  get started(): boolean {
    return this.#levels.length > 0;
  }

  /** Whether what has begun last is an object. */
  get isObject(): boolean {
    return this.#levels.at(-1)?.isArray === false;
  }

  /** Whether a value has been read and no other has begun. */
  get complete(): boolean {
    return this.values > 0 && this.#levels.length === 0;
  }

  /** @returns why it is not read further, as a part of a sentence; undefined if it is */
  open(isArray: boolean, start = 0): string | undefined {
    const parent = this.#levels.at(-1);
    const node = this.#nextNode();
    node?.types.add(isArray ? 'array' : 'object');
    if (node && !isArray) node.objects += 1;
    if (parent && !isArray) parent.objects += 1;
    if (this.#levels.length >= DEEPEST) return `it is nested deeper than ${DEEPEST} levels`;
    this.#levels.push({ isArray, node, length: 0, objects: 0, key: '', next: undefined, start });
    return undefined;
  }

  key(name: string): void {
    const level = this.#levels.at(-1)!;
    level.key = name.slice(0, LONGEST_KEY);
    level.next = this.#fieldOf(level.node, name);
  }

  scalar(type: string): void {
    this.#nextNode()?.types.add(type);
    this.#ended(false);
  }

  /** @param end the byte after it */
  close(end?: number): void {
    const level = this.#levels.pop()!;
    noteLength(level);
    const { isArray, start, length, objects } = level;
    const isTable = isArray && objects > 0 && objects === length && this.values === 0;
    if (isTable && this.tables.length < TABLES && !this.#levels.some((outer) => outer.isArray)) {
      this.tables.push({ path: this.#levels.map(({ key }) => key), start, end });
    }
    if (end !== undefined) this.#ended(!isArray);
  }

  /** Ends what is open, because nothing follows: what an array has until then is its length. */
  closeAll(): void {
    while (this.started) this.close();
  }

  /** The shape, with one indented line for each key. */
  toString(): string {
    const lines: string[] = [];
    print(this.#top, '', '', lines);
    return lines.length > LINES ? [...lines.slice(0, LINES), '…'].join('\n') : lines.join('\n');
  }

  /** The node for the value that begins now. */
  #nextNode(): Node | undefined {
    const level = this.#levels.at(-1);
    if (!level) return this.#top;
    if (!level.isArray) return level.next;
    level.length += 1;
    if (level.node) level.node.items ??= this.#newNode();
    return level.node?.items;
  }

  #ended(isObject: boolean): void {
    if (this.started) return;
    this.values += 1;
    if (isObject) this.objects += 1;
  }

  #fieldOf(node: Node | undefined, key: string): Node | undefined {
    if (!node) return undefined;
    const known = node.fields.get(key);
    if (known) {
      known.times += 1;
      return known.node;
    }
    // The memory for a key must not depend on the caller.
    if (node.fields.size >= KEYS || key.length > LONGEST_KEY) {
      node.moreFields = true;
      return undefined;
    }
    const field = { times: 1, node: this.#newNode() };
    node.fields.set(key, field);
    return field.node;
  }

  #newNode(): Node | undefined {
    if (this.#levels.length > DESCRIBED_DEPTH || this.#root.left <= 0) return undefined;
    this.#root.left -= 1;
    return newNode();
  }
}

function newNode(): Node {
  return {
    types: new Set(),
    objects: 0,
    fields: new Map(),
    moreFields: false,
    shortest: Infinity,
    longest: 0,
    items: undefined,
  };
}

function noteLength({ isArray, node, length }: Level): void {
  if (!isArray || !node) return;
  node.shortest = Math.min(node.shortest, length);
  node.longest = Math.max(node.longest, length);
}

/** Writes `label: types` and below it, indented, the keys of the objects of this node. */
function print(node: Node, label: string, indent: string, lines: string[]): void {
  if (lines.length > LINES) return;
  lines.push(`${indent}${label}${typesOf(node)}`);
  // Objects within arrays within arrays are described where the innermost array is.
  let holder: Node | undefined = node;
  while (holder) {
    for (const [key, { times, node: field }] of holder.fields) {
      const optional = times < holder.objects ? '?' : '';
      const name = `${plain(key, 40)}${optional}: `;
      if (field) print(field, name, `${indent}  `, lines);
      else lines.push(`${indent}  ${name}…`);
      if (lines.length > LINES) return;
    }
    if (holder.moreFields) lines.push(`${indent}  … (more keys)`);
    holder = holder.items;
  }
}

function typesOf(node: Node): string {
  const types = [...node.types].filter((type) => !(type === 'integer' && node.types.has('number')));
  return types.map((type) => (type === 'array' ? arrayOf(node) : type)).join(' or ');
}

function arrayOf(node: Node): string {
  const length =
    node.shortest === node.longest
      ? format(node.longest)
      : `${format(node.shortest)} to ${format(node.longest)}`;
  const items = node.items && node.items.types.size > 0 ? ` of ${typesOf(node.items)}` : '';
  return `array (${length === '0' ? 'empty' : `${length} ${node.longest === 1 ? 'item' : 'items'}`})${items}`;
}

function format(amount: number): string {
  return amount.toLocaleString('en-US');
}
