const LINE_FEED = 10;

/** Follows the quotes of delimited text, so that one that is never closed is found. The engine would drop what follows it. */
export class QuoteState {
  readonly #delimiter: number;
  readonly #quoteMark: number;
  #state: 'start' | 'plain' | 'quoted' | 'closing' = 'start';
  #line = 1;
  #openLine = 1;

  constructor(delimiter: string, quote: string) {
    this.#delimiter = delimiter.charCodeAt(0);
    this.#quoteMark = quote.charCodeAt(0);
  }

  /** The line with the quote that is open; undefined if none is. */
  get openLine(): number | undefined {
    return this.#state === 'quoted' ? this.#openLine : undefined;
  }

  /**
   * Follows the next piece.
   *
   * @returns where in the piece the last row begins; undefined if none begins there
   */
  add(text: string): number | undefined {
    let rowAt: number | undefined;
    for (let at = 0; at < text.length; at += 1) {
      const unit = text.charCodeAt(at);
      if (unit === LINE_FEED) this.#line += 1;
      if (unit === this.#quoteMark) this.#quote();
      else if (this.#state === 'quoted') continue;
      else if (unit === LINE_FEED || unit === this.#delimiter) {
        this.#state = 'start';
        if (unit === LINE_FEED) rowAt = at + 1;
      } else this.#state = 'plain';
    }
    return rowAt;
  }

  #quote(): void {
    if (this.#state === 'start') this.#openLine = this.#line;
    if (this.#state === 'start' || this.#state === 'closing') this.#state = 'quoted';
    else if (this.#state === 'quoted') this.#state = 'closing';
  }
}
