import { EventForm } from '../view/event-form.js';

/** What a response shows of a run. */
export interface Shown {
  /** The thread and the run, as the client names them. */
  threadId: string;
  runId: string;
  parentRunId?: string | undefined;
  /** Whether the client speaks a version before 1.0: it refuses outcomes that this does not have. Default: no. */
  isBefore1?: boolean;
  /** The number of the first event. Default 0. */
  from?: number;
  /** The response begins when this request is resolved. Default: with the run. */
  after?: string;
  /** The requests that were resolved already: where the run has asked them, it does not end for this client. Default: none. */
  resolved?: ReadonlySet<string>;
  /** A frame behind the first event: no client resumes after it. It is ASCII. Default: none. */
  snapshot?: string;
}

/** Events of AG-UI, each with an id by which a client resumes after it. */
export abstract class RunEvents extends EventForm {
  /** @param run undefined if there is none: the client is told why, and cannot resume */
  constructor(
    private readonly run: { id: string } | undefined,
    protected readonly shown: Shown,
  ) {
    super(shown.after === undefined ? shown.from : Infinity);
  }

  override beginning(): string {
    return super.beginning() + (this.shown.snapshot ?? '');
  }

  override headers(): Record<string, string> {
    return this.run ? { 'X-Run-Id': this.run.id } : {};
  }

  /** TanStack AI's client takes an unfinished line for a cut, and resumes; the end of an empty response, for a failure. */
  override interruption(): string {
    return ':';
  }

  /** An id that is the same in every response. */
  protected idOf(name: string | number): string {
    return `${this.run?.id}.${name}`;
  }

  protected send(type: string, data: object): void {
    this.event(JSON.stringify({ type, ...data }));
  }

  /** @param json the event */
  protected event(json: string): void {
    this.write(json, this.#idLine());
  }

  /**
   * The last event of a run of AG-UI. A client that has it already gets it again, without an id: of an empty response it would not
   * know that all is over. An `EventSource` asks again all the same: it is told to do so after a day.
   */
  protected last(type: string, data: object): void {
    const isKnown = this.number === this.from - 1;
    if (isKnown) this.from = this.number;
    this.write(JSON.stringify({ type, ...data }), isKnown ? 'retry: 86400000\n' : this.#idLine());
  }

  #idLine(): string {
    return this.run ? `id: ${this.run.id}.${this.number}\n` : '';
  }
}
