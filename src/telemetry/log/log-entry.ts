import { inspect } from 'node:util';
import { textForLog } from '../../query/index.js';

/** A longer text is cut. */
const MAX_LENGTH = 200;

/** A text that stays as it is, recognised quickly: nearly every text is one. */
const SAFE = /^[ -~]{0,200}$/;

/** A text that need not be quoted. */
const PLAIN = /^[\w.:@/+-]+$/;

/** What an entry says. Members that are undefined are left out. */
export type LogFields = Record<string, string | number | boolean | undefined>;

const NONE: LogFields = {};

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
   * @param more follow them. Default: none
   */
  constructor(title: string, fields: LogFields, more: LogFields = NONE) {
    this.#title = title;
    this.#add(fields);
    this.#add(more);
  }

  #add(fields: LogFields): void {
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
  return textForLog(text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text);
}

function quoted(text: string): string {
  return PLAIN.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`;
}
