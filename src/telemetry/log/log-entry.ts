import { inspect } from 'node:util';

/** A longer text is cut. */
const MAX_LENGTH = 200;

/** Characters that end a line, steer a terminal or change the direction of text; and halves of a character. */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** A text without such characters, recognised quickly: nearly every text is one. */
const SAFE = /^[ -~]{0,200}$/;

/** A text that need not be quoted. */
const PLAIN = /^[\w.:@/+-]+$/;

/** What an entry says. Members that are undefined are left out. */
export type LogFields = Record<string, string | number | boolean | undefined>;

/**
 * One entry of the log. A logger that writes JSON writes its members. Any other logger writes one line of text.
 *
 * Callers choose some of the texts. Each is cut, and has no character that could begin a line or steer a terminal.
 */
export class LogEntry {
  readonly #title: string;

  /**
   * @param title how the line of text begins
   * @param fields become the members of the entry
   */
  constructor(title: string, fields: LogFields) {
    this.#title = title;
    const members = this as unknown as Record<string, unknown>;
    for (const name in fields) {
      const value = fields[name];
      if (value !== undefined) members[name] = typeof value === 'string' ? safe(value) : value;
    }
  }

  [inspect.custom](): string {
    const fields = Object.entries(this as unknown as Record<string, unknown>);
    const shown = fields.filter(([name]) => name !== 'event');
    return [this.#title, ...shown.map(([name, value]) => `${name}=${quoted(String(value))}`)].join(' ');
  }
}

function safe(text: string): string {
  if (SAFE.test(text)) return text;
  const cut = text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
  return cut.replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function quoted(text: string): string {
  return PLAIN.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`;
}
