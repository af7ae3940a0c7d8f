/** The date and time of seconds since 1970 in ISO 8601, without a zone; undefined if no calendar has it. */
export function isoSecond(seconds: number): string | undefined {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString().replace(/\.?0*Z$/, '');
}

/** The date of days since 1970; undefined if no calendar has it. */
export function isoDay(days: number): string | undefined {
  return isoSecond(Math.floor(days) * 86_400)?.replace(/T.*/, '');
}

/** Whole seconds as `hh:mm:ss`; hours may be more than 24. */
export function clockOf(seconds: bigint): string {
  const two = (part: bigint) => String(part).padStart(2, '0');
  return `${two(seconds / 3600n)}:${two((seconds / 60n) % 60n)}:${two(seconds % 60n)}`;
}

/** Parts of a second behind the point, without zeros at the end; empty for none. */
export function fractionOf(parts: bigint, digits: number): string {
  const text = digits === 0 ? '' : String(parts).padStart(digits, '0').replace(/0+$/, '');
  return text === '' ? '' : `.${text}`;
}
