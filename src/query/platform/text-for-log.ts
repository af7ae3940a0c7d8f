/** Characters that end a line, steer a terminal or change the direction of text; and halves of a character. */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * A text for a log: without a character that could begin a line or steer a terminal. Each of them becomes its number.
 *
 * @example
 * logger.log(textForLog('one\ntwo')); // one\u000atwo
 */
export function textForLog(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * A text of another server for a log: three stars are in the place of each secret, however short that is.
 *
 * @param secrets keys, or values of headers; of `Bearer x` also `x` is one
 *
 * @example
 * logger.warn(withoutSecrets('Invalid key: k1', ['Bearer k1'])); // Invalid key: ***
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const all = secrets.flatMap((secret) => [secret, secret.replace(/^\S+ /, '')]).filter(Boolean);
  // One may be a part of another.
  all.sort((one, other) => other.length - one.length);
  return all.reduce((cleaned, secret) => cleaned.replaceAll(secret, '***'), text);
}
