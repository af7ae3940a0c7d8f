/** A text of the message that is not finished. */
interface OpenText {
  kind: 'text' | 'reasoning';
  id: string;
  /** The `id` of its envelopes. */
  name: string | undefined;
}

/** What one call of the model and its tools have made. */
interface Step {
  /** The number of the first envelope that is shown in it; undefined while it is empty. */
  first: number | undefined;
  calls: Set<string>;
  /** Those without a result. */
  openCalls: Set<string>;
}

/** A chunk of a UI message stream. */
export interface Chunk {
  type: string;
  [member: string]: unknown;
}

/** A chunk about a call. */
export interface CallChunk extends Chunk {
  toolCallId: string;
}

/**
 * The parts of one message, as they are written: texts, and steps. A step ends with the results of its calls. So the last step of a
 * message that waits for answers has the calls that wait, and that of a finished message has none: by this `sendAutomaticallyWhen`
 * decides.
 */
export class MessageParts {
  /** The beginning of a chunk that continues the open text, if the envelopes of that have no `id`. */
  continuation: string | undefined;
  /** The number of the last envelope that is shown. */
  last = 0;
  /** The number of the last envelope that is shown outside of the open step. */
  #lastOutside = 0;
  #text: OpenText | undefined;
  #step: Step | undefined;
  /** Whether the last step has calls. */
  #hasCalls = false;
  readonly #calls = new Set<string>();
  /** Those without a result. */
  readonly #openCalls = new Set<string>();

  constructor(private readonly write: (chunk: string) => void) {}

  add(chunk: Chunk): void {
    this.write(JSON.stringify(chunk));
  }

  /** Adds a piece of a text. */
  piece(kind: OpenText['kind'], { content, id: name }: { content: string; id?: string }, seq: number): void {
    if (this.#text?.kind !== kind || this.#text.name !== name) {
      this.closeText();
      this.#enterStep(seq);
      const id = `${kind}_${seq}`;
      this.#text = { kind, id, name };
      this.add({ type: `${kind}-start`, id });
      if (kind === 'text' && name === undefined)
        this.continuation = `{"type":"text-delta","id":"${id}","delta":`;
    }
    this.add({ type: `${kind}-delta`, id: this.#text.id, delta: content });
    this.last = seq;
  }

  /** Adds a part that is one chunk. */
  part(chunk: string, seq: number): void {
    this.#enterStep(seq);
    this.write(chunk);
    this.last = seq;
  }

  call(chunk: CallChunk, seq: number): void {
    this.part(JSON.stringify(chunk), seq);
    this.#hasCalls = true;
    const { calls, openCalls } = this.#step!;
    for (const each of [calls, openCalls, this.#calls, this.#openCalls]) each.add(chunk.toolCallId);
  }

  /**
   * Adds what has become of a call. Clients fail on what is about a call that they do not know: that is not added.
   *
   * @param seq undefined for an answer: it is never void
   */
  result(chunk: CallChunk, seq?: number): void {
    const { toolCallId } = chunk;
    if (!this.#calls.has(toolCallId)) return;
    this.add(chunk);
    this.#openCalls.delete(toolCallId);
    this.#step?.openCalls.delete(toolCallId);
    if (seq === undefined) return;
    this.last = seq;
    if (!this.#step?.calls.has(toolCallId)) this.#lastOutside = seq;
  }

  isOpenCall(id: string): boolean {
    return this.#openCalls.has(id);
  }

  closeText(): void {
    if (this.#text) this.add({ type: `${this.#text.kind}-end`, id: this.#text.id });
    this.#forgetText();
  }

  endStep(): void {
    this.closeText();
    if (this.#step) this.add({ type: 'finish-step' });
    this.#step = undefined;
    this.#lastOutside = this.last;
  }

  /** Ends the step if it has calls that the run does not ask for: clients wait for the results of all calls of the last step. */
  leaveCalls(asked: string[]): void {
    if (!asked.some((id) => this.isOpenCall(id)) && this.#step?.calls.size) this.endStep();
  }

  /**
   * Ends the last step of the message. If that has calls, a step without calls follows.
   *
   * @param last what that has: clients do not notice an empty step
   */
  endMessage(last: string): void {
    this.endStep();
    if (!this.#hasCalls) return;
    this.part(last, this.last);
    this.endStep();
  }

  /**
   * Empties the open step, if envelopes are void that it shows.
   *
   * @param from the number of the last envelope that is valid
   * @returns false if the step shows others too, or others are void too
   */
  resetStep(from: number): boolean {
    const first = this.#step?.first;
    if (first === undefined || first <= from || this.#lastOutside > from) return false;
    this.#forgetText();
    this.add({ type: 'reset-step' });
    for (const id of this.#step!.calls) for (const calls of [this.#calls, this.#openCalls]) calls.delete(id);
    this.#step = newStep();
    this.#hasCalls = false;
    this.last = this.#lastOutside;
    return true;
  }

  #enterStep(seq: number): void {
    if (this.#step?.calls.size && this.#step.openCalls.size === 0) this.endStep();
    if (!this.#step) {
      this.add({ type: 'start-step' });
      this.#step = newStep();
      this.#hasCalls = false;
    }
    this.#step.first ??= seq;
  }

  #forgetText(): void {
    this.#text = undefined;
    this.continuation = undefined;
  }
}

function newStep(): Step {
  return { first: undefined, calls: new Set(), openCalls: new Set() };
}
