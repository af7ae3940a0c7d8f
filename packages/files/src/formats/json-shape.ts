import { plain } from '../markdown.js';

/** Levels of nesting that are read; deeper JSON is refused. */
const DEEPEST = 1000;
/** Levels of nesting that are described. */
const DESCRIBED_DEPTH = 8;
/** Keys of one object that are described, at most. */
const KEYS = 50;
/** Nodes of the whole description, at most. */
const NODES = 1000;
/** Lines that are shown, at most. */
const LINES = 80;

/** The tokens of JSON, numbered as the tokenizer numbers them. */
export const enum Token {
  LeftBrace = 0,
  RightBrace = 1,
  LeftBracket = 2,
  RightBracket = 3,
  Colon = 4,
  Comma = 5,
  True = 6,
  False = 7,
  Null = 8,
  String = 9,
  Number = 10,
}

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
  array: boolean;
  node: Node | undefined;
  length: number;
  /** The node of the next value. */
  next: Node | undefined;
}

type Expected = 'value' | 'value or end' | 'key' | 'key or end' | 'colon' | 'comma or end';

/** A token that the grammar does not allow there. Its message names the token, not its offset. */
export class JsonFault extends Error {}

/**
 * Collects the shape of JSON from its tokens and checks their grammar (RFC 8259). Its memory is bounded: it grows with
 * the number of different keys, up to a limit, and never with the number of values.
 */
export class JsonShape {
  /** Complete values at the top. */
  values = 0;
  readonly #root = { left: NODES };
  readonly #top: Node = newNode();
  readonly #levels: Level[] = [];
  #expected: Expected = 'value';

  /** Whether a value has begun. */
  get started(): boolean {
    return this.#levels.length > 0;
  }

  /** Whether a value has been read and no other has begun. */
  get complete(): boolean {
    return this.values > 0 && this.#levels.length === 0;
  }

  /**
   * Adds the next token.
   *
   * @throws {JsonFault} if the grammar does not allow it there
   */
  add(token: number, value: unknown): void {
    const level = this.#levels.at(-1);
    switch (token as Token) {
      case Token.LeftBrace:
        return this.#open(false);
      case Token.LeftBracket:
        return this.#open(true);
      case Token.RightBrace:
        if (level?.array !== false) return unexpected('}');
        if (this.#expected !== 'key or end' && this.#expected !== 'comma or end') return unexpected('}');
        return this.#close(level);
      case Token.RightBracket:
        if (level?.array !== true) return unexpected(']');
        if (this.#expected !== 'value or end' && this.#expected !== 'comma or end') return unexpected(']');
        return this.#close(level);
      case Token.Colon:
        if (this.#expected !== 'colon') return unexpected(':');
        this.#expected = 'value';
        return;
      case Token.Comma:
        if (this.#expected !== 'comma or end' || !level) return unexpected(',');
        this.#expected = level.array ? 'value' : 'key';
        return;
      case Token.String:
        if (level && (this.#expected === 'key' || this.#expected === 'key or end')) {
          level.next = this.#fieldOf(level.node, String(value));
          this.#expected = 'colon';
          return;
        }
        return this.#scalar('string');
      case Token.Number:
        return this.#scalar(Number.isInteger(value) ? 'integer' : 'number');
      case Token.Null:
        return this.#scalar('null');
      default:
        return this.#scalar('boolean');
    }
  }

  /** Ends what is open, because nothing follows: what an array has until then is its length. */
  closeAll(): void {
    for (let level = this.#levels.pop(); level; level = this.#levels.pop()) noteLength(level);
  }

  /** The shape, with one indented line for each key. */
  toString(): string {
    const lines: string[] = [];
    print(this.#top, '', '', lines);
    return lines.length > LINES ? [...lines.slice(0, LINES), '…'].join('\n') : lines.join('\n');
  }

  /** The node for the value that begins now. */
  #nextNode(): Node | undefined {
    if (this.#expected !== 'value' && this.#expected !== 'value or end') unexpected('a value');
    const level = this.#levels.at(-1);
    if (!level) return this.#top;
    if (!level.array) return level.next;
    level.length += 1;
    if (level.node) level.node.items ??= this.#newNode();
    return level.node?.items;
  }

  #scalar(type: string): void {
    this.#nextNode()?.types.add(type);
    this.#ended();
  }

  #open(array: boolean): void {
    const node = this.#nextNode();
    node?.types.add(array ? 'array' : 'object');
    if (node && !array) node.objects += 1;
    if (this.#levels.length >= DEEPEST) throw new JsonFault(`it is nested deeper than ${DEEPEST} levels`);
    this.#levels.push({ array, node, length: 0, next: undefined });
    this.#expected = array ? 'value or end' : 'key or end';
  }

  #close(level: Level): void {
    noteLength(level);
    this.#levels.pop();
    this.#ended();
  }

  #ended(): void {
    if (this.#levels.length > 0) {
      this.#expected = 'comma or end';
      return;
    }
    this.values += 1;
    this.#expected = 'value';
  }

  #fieldOf(node: Node | undefined, key: string): Node | undefined {
    if (!node) return undefined;
    const known = node.fields.get(key);
    if (known) {
      known.times += 1;
      return known.node;
    }
    if (node.fields.size >= KEYS) {
      node.moreFields = true;
      return undefined;
    }
    // The memory for a key must not depend on the caller.
    if (key.length > 1000) {
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

function noteLength({ array, node, length }: Level): void {
  if (!array || !node) return;
  node.shortest = Math.min(node.shortest, length);
  node.longest = Math.max(node.longest, length);
}

function unexpected(what: string): never {
  throw new JsonFault(`${what} that does not belong there`);
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
