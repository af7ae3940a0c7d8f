import { isInRange, type Range, rangeText } from '../query/options/table.js';
import { entriesOf } from './lists.js';

/** How the text of a variable becomes its value. */
export interface Kind<T> {
  /** The default. */
  value: T;
  /** Undefined: the text is not valid. */
  read: (text: string) => T | undefined;
  /** What the value must be, as the end of a sentence. */
  must: string;
  /** For a secret: what is wrong with a text, without a part of it. */
  fault?: (text: string) => string | undefined;
}

export function text(value = ''): Kind<string> {
  const read = (given: string) => (value !== '' && given.trim() === '' ? undefined : given);
  return { value, read, must: 'a text that is not empty' };
}

export function whole<D extends number | undefined = undefined>(range: Range, value?: D): Kind<number | D> {
  const read = (given: string) =>
    /^\d+$/.test(given) && isInRange(Number(given), range) ? Number(given) : undefined;
  return { value: value as D, read, must: rangeText(range) };
}

export function decimal([least, most]: Range): Kind<number | undefined> {
  const isIn = (value: number) => value >= least && value <= most;
  const read = (given: string) =>
    /^\d+(?:\.\d+)?$/.test(given) && isIn(Number(given)) ? Number(given) : undefined;
  return { value: undefined, read, must: `a number from ${least} to ${most}` };
}

export function oneOf<const V extends string, const D extends V | ''>(
  values: readonly V[],
  value: D,
): Kind<V | D> {
  const quoted = values.map((each) => `"${each}"`);
  const last = quoted.pop()!;
  const must = quoted.length === 0 ? last : `${quoted.join(', ')} or ${last}`;
  return { value, read: (given) => values.find((each) => each === given), must };
}

/** Texts with commas between them. A list of commas alone is a mistake. */
export function list(isEntry: (entry: string) => boolean, must: string): Kind<string> {
  const isList = (entries: string[]) => entries.length > 0 && entries.every(isEntry);
  return { value: '', read: (given) => (isList(entriesOf(given)) ? given : undefined), must };
}

/** A text that must not be shown. */
export function secret(fault: (text: string) => string | undefined): Kind<string> {
  return { value: '', read: (given) => (fault(given) === undefined ? given : undefined), must: '', fault };
}
