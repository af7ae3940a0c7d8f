/** A piece of a tool call, as it comes. */
export interface CallPiece {
  index?: string | number | undefined;
  id?: string | undefined;
  name?: string | undefined;
  args?: string | undefined;
}

export interface ToolCall {
  id: string;
  name: string;
  args: unknown;
}

/** A message of a model, as far as it has come. */
export class StreamedMessage {
  readonly #ids: (string | undefined)[] = [];
  readonly #calls: { id: string; name: string; args: string }[] = [];
  #newest: CallPiece['index'];
  /** The text and the reasoning that were shown. */
  text = '';
  reasoning = '';
  /** The ids of the calls that were shown. */
  readonly shownCalls = new Set<string>();

  /**
   * @param task the task in which the model was called
   * @param isShown whether its text belongs to the answer
   */
  constructor(
    readonly task: string,
    readonly isShown: boolean,
  ) {}

  /** The id of its envelopes. Some models know the id of a message only after its first chunk. */
  get id(): string | undefined {
    return this.#ids[0];
  }

  addId(id: string | undefined): void {
    if (this.#ids.length === 0 || this.#ids.at(-1) !== id) this.#ids.push(id);
  }

  /** Whether this is what has come of a message that a node has returned. Nodes copy messages without their ids. */
  isPartOf(id: string | undefined, text: string): boolean {
    return (id !== undefined && this.#ids.includes(id)) || (text !== '' && text === this.text);
  }

  addCallPiece({ index, id = '', name = '', args = '' }: CallPiece): void {
    const isNew = this.#calls.length === 0 || (index === undefined ? id !== '' : index !== this.#newest);
    this.#newest = index;
    if (isNew) return void this.#calls.push({ id, name, args });
    const call = this.#calls.at(-1)!;
    call.id ||= id;
    call.name ||= name;
    call.args += args;
  }

  /** The calls that are complete and were not shown yet. */
  takeCalls(): ToolCall[] {
    if (this.#calls.length === 0) return [];
    const complete: ToolCall[] = [];
    for (const { id, name, args } of this.#calls.splice(0)) {
      const value = objectOf(args);
      if (value !== undefined && id !== '') complete.push({ id, name, args: value });
    }
    return complete;
  }
}

function objectOf(args: string): unknown {
  try {
    return args === '' ? {} : (JSON.parse(args) as unknown);
  } catch {
    return undefined;
  }
}
