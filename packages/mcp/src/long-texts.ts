import { randomUUID } from 'node:crypto';
import type { LogText, Piece } from 'nest-agent-query/protocol';

/**
 * The long texts of the answer to one request. The SDK makes the JSON of an answer as a whole: it gets a mark in the place of a long
 * text, which the text replaces while the JSON is written.
 */
export class LongTexts {
  readonly #texts = new Map<string, Piece>();

  /** Returns a text, or the mark of a long one. */
  markOf({ short, json }: LogText): string {
    if (short !== undefined) return JSON.parse(`"${short}"`) as string;
    const mark = randomUUID();
    this.#texts.set(mark, json);
    return mark;
  }

  /** @param json what the SDK has made: a message, or an event with a message */
  pieces(json: string): Piece[] {
    if (this.#texts.size === 0) return [json];
    const marks = new RegExp(`(${[...this.#texts.keys()].join('|')})`);
    return json.split(marks).map((part) => this.#texts.get(part) ?? part);
  }
}
