/** So many characters have a number with its unit at most. */
const LONGEST = 32;

/**
 * A number as people write it: with a sign or in parentheses, a currency before or after it, groups of digits, an exponent, and a
 * percent sign or a short unit.
 */
export const SHOWN_NUMBER =
  /^(?<open>\()?(?<sign>[-+−–])? ?(?<before>[$€£¥₹₩₽₺]|(?:AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HUF|INR|JPY|KRW|MXN|NOK|NZD|PLN|SEK|SGD|TRY|USD|ZAR)(?= ))? ?(?<inner>[-+−–])?(?<digits>\.?\d[\d.,'’_ \u00a0\u2009\u202f]*(?:[eE][-+]?\d+)?)(?<after>[ \u00a0\u202f]?[%‰$€£¥₹₩₽₺]|[ \u00a0\u202f][A-Za-zµ°Ω][A-Za-zµ°Ω/²³]{0,4})?(?<close>\))?$/;

/** What stands where a number is missing. */
const MISSING = /^(?:|[-–—]|null|n\/a|nan)$/i;

export function isNumber(text: string): boolean {
  return text.length <= LONGEST && SHOWN_NUMBER.test(text);
}

export function isMissing(text: string): boolean {
  return MISSING.test(text);
}
