/** Shorter texts may begin alike by chance. */
const LEAST_LENGTH = 20;
/** A longer text is not remembered. */
const MOST_LENGTH = 64 * 1024;

/**
 * Finds texts that are said again: after a cut stream some agents ask the model once more, and send its answer as another message.
 * Only what has ids can be told apart.
 */
export class RepeatedText {
  #id: string | undefined;
  /** The text of this message; undefined if it is too long, or has no id. */
  #text: string | undefined;
  /** The text of the message before, while this one may repeat it. */
  #before: string | undefined;

  /**
   * @param id of the message that a text belongs to
   * @returns whether the message has now said all of the message before it, which nothing else stands between
   */
  repeats(id: string | undefined, text: string): boolean {
    if (id !== this.#id) {
      const mayRepeat = id !== undefined && this.#text !== undefined && this.#text.length >= LEAST_LENGTH;
      this.#before = mayRepeat ? this.#text : undefined;
      this.#id = id;
      this.#text = id === undefined ? undefined : '';
    }
    if (this.#text === undefined) return false;
    this.#text = this.#text.length + text.length > MOST_LENGTH ? undefined : this.#text + text;
    if (this.#before === undefined || this.#text === undefined || this.#text.length < this.#before.length)
      return false;
    const isRepeated = this.#text.startsWith(this.#before);
    this.#before = undefined;
    return isRepeated;
  }

  /** Something else was sent: the message had an end. */
  interrupted(): void {
    this.#id = undefined;
    this.#text = undefined;
    this.#before = undefined;
  }
}
