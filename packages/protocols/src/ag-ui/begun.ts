/** The messages and the calls that a log has begun, with the numbers of their envelopes. */
export class Begun {
  #all: { seq: number; kind: 'message' | 'call'; id: string }[] = [];

  add(kind: 'message' | 'call', id: string, seq: number): void {
    this.#all.push({ seq, kind, id });
  }

  hasCall(wanted: string): boolean {
    return this.#all.some(({ kind, id }) => kind === 'call' && id === wanted);
  }

  /** Removes those after an envelope. */
  voidAfter(from: number): { messageIds: string[]; toolCallIds: string[] } {
    const gone = this.#all.filter(({ seq }) => seq > from);
    this.#all = this.#all.filter(({ seq }) => seq <= from);
    const idsOf = (wanted: 'message' | 'call') =>
      gone.filter(({ kind }) => kind === wanted).map(({ id }) => id);
    return { messageIds: idsOf('message'), toolCallIds: idsOf('call') };
  }
}
