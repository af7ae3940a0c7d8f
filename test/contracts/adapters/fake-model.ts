/** A tool call that a fake model makes. */
export interface FakeCall {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

/** What a fake model does next. */
export type ModelAct =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | ({ type: 'call' } & FakeCall)
  /** The beginning of a call, whose arguments are not complete. */
  | { type: 'callBegin'; id: string; name: string; argumentsText: string }
  | { type: 'source'; url: string; title: string }
  | { type: 'file'; mimeType: string; bytes: Uint8Array }
  /** The end of the step. A step without it is cut. */
  | { type: 'end'; usage: FakeUsage };

export interface FakeUsage {
  inputTokens: number;
  outputTokens: number;
  reasoningTokens?: number;
  cachedInputTokens?: number;
}

/** One answer of a fake model. A model that calls a tool gets another request, for which it has the next step. */
export interface ModelStep {
  acts: ModelAct[];
  /** What comes after the acts: nothing more, silence until the request is aborted, or a broken connection. Default: nothing. */
  then?: 'hold' | 'break';
  /** Refuses the request instead, as an endpoint does over HTTP. */
  refuse?: { status: number; body: string };
}

/** A message as the model got it, in a form that all frameworks have. */
export interface ModelMessageSeen {
  role: 'system' | 'user' | 'assistant' | 'tool';
  /** All texts of the message, joined. */
  text: string;
  files: { mimeType: string; bytes: Uint8Array }[];
  calls: FakeCall[];
  /** `content` contains what the tool has returned, in the form in which the framework shows it to models. */
  results: { id: string; content: unknown }[];
}

/** A request that a fake model got. */
export interface ModelRequest {
  messages: ModelMessageSeen[];
  /** The names of the tools that it may call. */
  tools: string[];
  /** How many acts were taken from its answer. */
  taken: number;
  isAborted: boolean;
}

/** The status and the body with which the endpoint of a model refuses a request. A harness makes the error of its framework of it. */
export class ModelRefusal extends Error {
  constructor(
    readonly status: number,
    readonly body: string,
  ) {
    super(`The endpoint refuses with the status ${status}`);
  }
}

/** The connection to the model is broken, as the system reports it. */
export class BrokenConnection extends Error {
  readonly code = 'ECONNRESET';

  constructor() {
    super('read ECONNRESET 10.1.2.3:443');
  }
}

/** A model that does what it is told. A harness makes a model of its framework of it. */
export class FakeModel {
  static readonly MODEL_ID = 'fake-1';
  readonly requests: ModelRequest[] = [];
  #next = 0;

  constructor(private readonly steps: ModelStep[]) {}

  get newest(): ModelRequest {
    return this.requests.at(-1)!;
  }

  /**
   * Answers a request with the next step.
   *
   * @param request what the framework sends to the model
   * @param signal with which the framework aborts the request
   * @throws {ModelRefusal} before the first act · {BrokenConnection} after the last
   */
  async *answer(
    request: Pick<ModelRequest, 'messages' | 'tools'>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<ModelAct> {
    const step = this.steps[this.#next++];
    if (!step) throw new Error('The fake model got more requests than it has steps.');
    const seen: ModelRequest = { ...request, taken: 0, isAborted: signal?.aborted ?? false };
    signal?.addEventListener('abort', () => (seen.isAborted = true), { once: true });
    this.requests.push(seen);
    if (step.refuse) throw new ModelRefusal(step.refuse.status, step.refuse.body);
    for (const act of step.acts) {
      seen.taken += 1;
      yield act;
    }
    if (step.then === 'hold') await aborted(signal);
    if (step.then === 'break') throw new BrokenConnection();
  }
}

async function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = () => reject(new DOMException('The request was aborted.', 'AbortError'));
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
  });
}
