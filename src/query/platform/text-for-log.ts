import { inspect } from 'node:util';

/** How the lines of a text begin that are no entries of a log. Those of a stack begin so too. */
const INDENT = '    ';

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
 * A text of several lines for a log. The lines after the first are indented, so that none of them looks like an entry. Each other
 * character that is not safe becomes its number, except for tabs.
 *
 * @example
 * logger.warn(linesForLog('one\ntwo')); // one⏎    two
 */
export function linesForLog(text: string): string {
  const lines = text.split('\n').map((line) => line.split('\t').map(textForLog).join('\t'));
  return lines
    .map((line, index) => (index === 0 || line.startsWith(INDENT) ? line : INDENT + line))
    .join('\n');
}

/**
 * The stack of an error for a log, as `linesForLog` writes it. Of anything else that was thrown: what `inspect` of Node shows.
 *
 * @param error undefined: there is none, and no text
 *
 * @example
 * logger.error('The store cannot be read.', stackForLog(error));
 */
export function stackForLog(error: unknown): string | undefined {
  if (error === undefined) return undefined;
  return linesForLog(error instanceof Error ? String(error.stack) : inspect(error));
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
