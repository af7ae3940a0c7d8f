/** A text in the pieces that the log has of it, which are JSON. They are joined when the whole is asked for. */
export class JsonText {
  readonly #pieces: string[] = [];
  /** Which envelope each piece is from. */
  readonly #seqs: number[] = [];
  #whole: string | undefined = '';

  /** @param piece as JSON, with its quotes */
  add(piece: string, seq: number): void {
    this.#pieces.push(piece);
    this.#seqs.push(seq);
    this.#whole = undefined;
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /** The whole as JSON, without the quotes. */
  get json(): string {
    return (this.#whole ??= this.#pieces.map((piece) => piece.slice(1, -1)).join(''));
  }

  /** Drops the pieces after an envelope. */
  cut(after: number): void {
    const count = this.#seqs.findIndex((seq) => seq > after);
    if (count === -1) return;
    this.#pieces.length = count;
    this.#seqs.length = count;
    this.#whole = undefined;
  }
}
