import type { NumberOption, Range } from './table.js';

/**
 * Whether a value is a whole number of a range.
 *
 * @example
 * if (!isInRange(steps, [1, 1_000])) throw new RangeError(`steps must be ${rangeText([1, 1_000])}.`);
 */
export function isInRange(value: unknown, [min, max]: Range): boolean {
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
}

/**
 * The range in words, for an error.
 *
 * @example
 * rangeText([1, 1_000]); // 'a whole number from 1 to 1000'
 */
export function rangeText([min, max]: Range): string {
  return `a whole number from ${min} to ${max}`;
}

/**
 * A group of options with the defaults in place of members that are absent or undefined.
 *
 * @param values what the host has set
 * @param defaults the value of every option of the group
 * @param numbers those of the group that are whole numbers
 * @param faults gets a sentence for each unknown member and each value out of range
 */
export function withDefaults<T extends object>(
  name: string,
  values: { [K in keyof T]?: T[K] | undefined } | undefined,
  defaults: Readonly<T>,
  numbers: Partial<Record<keyof T, NumberOption>>,
  faults: string[],
): T {
  const group: T = { ...defaults };
  for (const [key, value] of Object.entries(values ?? {}) as [keyof T & string, unknown][]) {
    if (value === undefined) continue;
    const range = numbers[key]?.range;
    if (!Object.hasOwn(defaults, key)) faults.push(`${name}.${key} is not an option.`);
    else if (range && !isInRange(value, range))
      faults.push(`${name}.${key} is ${shown(value)}; it must be ${rangeText(range)}.`);
    else group[key] = value as T[typeof key];
  }
  return group;
}

/** A value of an option for an error: `JSON.stringify` shows `NaN` and `Infinity` as null. */
export function shown(value: unknown): string {
  return typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? typeof value);
}
