import { randomUUID } from 'node:crypto';
import { type Envelope, type Part, say, type SentFile, type Step } from './script.js';
import { equal, holds, shown, Unmet } from './unmet.js';
import type { Frame } from './wire/frames.js';
import type { Reply } from './wire/reply.js';
import { type RequestOptions, send } from './wire/send.js';
import type { Target } from './wire/target.js';

/** The headers that ask for a stream in the full profile, and for JSON. */
export const FULL = { accept: 'text/event-stream' };
export const JSON_TYPE = { accept: 'application/json' };

/** A query to the scripted agent. */
export interface AskOptions extends RequestOptions {
  /** The parts before the script. */
  parts?: (Part | SentFile)[];
  kwargs?: Record<string, unknown> | null;
  /** What the query says about itself. */
  metadata?: unknown;
}

/** A run as JSON. */
export interface Run {
  id: string;
  status: string;
  session: string | null;
  createdAt: string;
  startedAt: string | null;
  endedAt: string | null;
  events: number;
  metadata?: Record<string, string>;
}

/** What a check does with the service. It remembers what it has begun, and ends it afterwards. */
export class Caller {
  /** In every mark and session of this check, so that no other check and no other suite has them. */
  readonly token = randomUUID().slice(0, 8);
  readonly #replies: Reply[] = [];
  readonly #unmarked = new Set<string>();
  readonly #sessions = new Set<string>();
  readonly #others: Caller[] = [];
  #names = 0;

  constructor(
    readonly target: Target,
    readonly waitMs: number,
  ) {}

  get path(): string {
    return this.target.endpoint.pathname;
  }

  /** A name of a mark, a session or a key that nobody else has. */
  name(kind: string): string {
    return `${kind}-${this.token}-${++this.#names}`;
  }

  async send(options: RequestOptions): Promise<Reply> {
    const url = new URL(options.path ?? this.path, this.target.endpoint);
    const headers = { ...this.target.headers, ...options.headers };
    const reply = await send(url, { ...options, headers }, this.waitMs);
    this.#replies.push(reply);
    return reply;
  }

  /** Sends a script, and resolves when the head of the response has arrived. Any status is fine. */
  submit(steps: Step[], { parts = [], kwargs, metadata, ...options }: AskOptions = {}): Promise<Reply> {
    for (const step of steps) {
      if ('wait' in step) this.#unmarked.add(step.wait);
      if ('mark' in step) this.#unmarked.delete(step.mark);
    }
    if (typeof kwargs?.['session_id'] === 'string') this.#sessions.add(kwargs['session_id']);
    const script: Part = { type: 'text', text: JSON.stringify(steps) };
    return this.send({ ...options, body: JSON.stringify({ parts: [...parts, script], kwargs, metadata }) });
  }

  /** Sends a script whose stream must follow. */
  async ask(steps: Step[], options?: AskOptions): Promise<Reply> {
    const reply = await this.submit(steps, options);
    if (reply.status !== 200)
      throw new Unmet('200 for a query', `${reply.status}, ${shown((await reply.text()).slice(0, 500))}`);
    return reply;
  }

  /** Sends a script, and returns what its agent has emitted. */
  async answer(steps: Step[], options?: AskOptions): Promise<Envelope[]> {
    return this.emitted(await (await this.ask(steps, options)).envelopes());
  }

  /** Sends a script in the full profile, and returns the frames of the whole stream. */
  async fullAnswer(steps: Step[], options?: AskOptions): Promise<Frame[]> {
    return (await this.ask(steps, { ...options, headers: { ...options?.headers, ...FULL } })).frames();
  }

  /** Envelopes without those of the service: `done`, and each `log` that has no name of this check. */
  emitted(envelopes: Envelope[]): Envelope[] {
    return envelopes.filter(
      ({ type, data }) => type !== 'done' && (type !== 'log' || JSON.stringify(data).includes(this.token)),
    );
  }

  /** What the agent reports as the JSON of its last message. */
  async report<T>(step: Step, options?: AskOptions): Promise<T> {
    const envelopes = await this.answer([step], options);
    const { content } = (envelopes.at(-1)?.data ?? {}) as { content?: string };
    try {
      return JSON.parse(content!) as T;
    } catch {
      throw new Unmet(`a report of the agent for ${shown(step)}`, shown(envelopes));
    }
  }

  /** Lets agents go on that wait for a mark. */
  async mark(name: string): Promise<void> {
    await (await this.ask([{ mark: name }])).whole();
  }

  /** How often agents have set a mark. */
  count(name: string): Promise<number> {
    return this.report<number>({ count: name });
  }

  /** Begins a run that waits: its first message has arrived. Returns the mark that lets it end. */
  async begin(options: AskOptions = {}): Promise<{ reply: Reply; runPath: string; end: string }> {
    const end = this.name('end');
    const reply = await this.ask([say(`first ${end}`), { wait: end }, say(`last ${end}`)], options);
    await reply.untilText(`first ${end}`);
    return { reply, runPath: this.runPath(reply), end };
  }

  /** The path of the run that a response names. */
  runPath({ headers }: Reply): string {
    const path = headers['content-location'];
    holds(path !== undefined && path.startsWith('/'), 'Content-Location with the path of the run', path);
    return path;
  }

  get(path: string, headers: Record<string, string> = JSON_TYPE): Promise<Reply> {
    return this.send({ method: 'GET', path, headers });
  }

  /** Sends a GET whose answer must be JSON. */
  async json<T = Record<string, unknown>>(path: string): Promise<T> {
    const reply = await this.get(path);
    equal(`the status of GET ${path}`, reply.status, 200);
    return reply.json<T>();
  }

  run(path: string): Promise<Run> {
    return this.json<Run>(path);
  }

  /** Follows a run in the full profile. */
  follow(path: string, headers: Record<string, string> = {}): Promise<Reply> {
    return this.get(path, { ...FULL, ...headers });
  }

  delete(path: string): Promise<Reply> {
    return this.send({ method: 'DELETE', path, headers: {} });
  }

  sessionPath(id: string): string {
    return `${this.path}/sessions/${encodeURIComponent(id)}`;
  }

  /** The same service for a caller with other headers. */
  as(headers: Record<string, string>): Caller {
    const caller = new Caller({ endpoint: this.target.endpoint, headers }, this.waitMs);
    this.#others.push(caller);
    return caller;
  }

  /** Ends what the check has begun, as far as the service lets it: a failed check may have left agents that wait. */
  async close(): Promise<void> {
    const unfinished = this.#replies.filter(({ hasEnded }) => !hasEnded);
    const paths = unfinished.map(({ headers }) => headers['content-location']).filter((path) => path);
    const marks = [...this.#unmarked].map((mark) => ({ mark }));
    const ending = [
      ...paths.map((path) => this.delete(path!)),
      ...(marks.length > 0 ? [this.submit(marks)] : []),
      ...[...this.#sessions].map((id) => this.delete(this.sessionPath(id))),
    ];
    await Promise.allSettled([
      ...ending.map(async (reply) => (await reply).whole()),
      ...this.#others.map((caller) => caller.close()),
    ]);
    for (const reply of this.#replies) reply.cut();
  }
}
