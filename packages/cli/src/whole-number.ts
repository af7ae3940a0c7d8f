import { InvalidArgumentError } from 'commander';

/** Makes the parser of an option that is a whole number. Without `max`, it may be as large as JavaScript counts. */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  const to = max === Number.MAX_SAFE_INTEGER ? '' : ` to ${max}`;
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min}${to}.`);
  };
}
