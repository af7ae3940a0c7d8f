import { isDeepStrictEqual } from 'node:util';

/** A promise that is not kept: what was expected, and what was seen. */
export class Unmet extends Error {
  constructor(
    readonly expected: string,
    readonly seen: string,
  ) {
    super(`expected ${expected}, seen ${seen}`);
  }
}

/** A promise that cannot be checked with what the suite was given, or with how the service is configured. */
export class NotChecked extends Error {}

/** Fails unless a value is deeply equal to another. */
export function equal(what: string, seen: unknown, expected: unknown): void {
  if (isDeepStrictEqual(seen, expected)) return;
  const [one, other] = [textOf(seen), textOf(expected)];
  const from = differenceOf(one, other);
  const place = from === 0 ? '' : `, from character ${from + 1}`;
  throw new Unmet(`${what}${place}: ${printable(other.slice(from))}`, printable(one.slice(from)));
}

/** Fails unless a condition holds. */
export function holds(condition: unknown, expected: string, seen: unknown): asserts condition {
  if (!condition) throw new Unmet(expected, typeof seen === 'string' ? printable(seen) : shown(seen));
}

/** Fails unless an object has members with these values. */
export function has(what: string, seen: object, members: Record<string, unknown>): void {
  for (const [name, expected] of Object.entries(members))
    equal(`${what}, ${name}`, (seen as Record<string, unknown>)[name], expected);
}

const MAX_LENGTH = 300;

/** A value as JSON, cut where it is long. What a service sends may steer a terminal: JSON escapes that, but for DEL and C1. */
export function shown(value: unknown): string {
  return printable(textOf(value));
}

/** Text in one line that no terminal obeys, cut where it is long. */
export function printable(text: string): string {
  const cut = text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}… (${text.length} characters)` : text;
  return cut.replace(/\n/g, '\\n').replace(/[\p{Cc}\u2028\u2029]/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

function textOf(value: unknown): string {
  return JSON.stringify(value) ?? 'nothing';
}

/** Where two texts are shown from: from the beginning, or from shortly before their difference where that is far behind. */
function differenceOf(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at < MAX_LENGTH / 2 ? 0 : at - 60;
}
