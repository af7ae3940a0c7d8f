import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { follow, get, type Reply, request } from '../../support/client.js';
import { Client, endOf, messagesOf } from './client.js';
import type { Figures } from './figures.js';
import type { Host, HostOptions } from './host.js';
import type { End, Model, ModelRun, Submission } from './model.js';
import { FILE_TEXT } from './settings.js';

/** What a run looks like from outside. */
export interface RunJson {
  id: string;
  status: 'waiting' | 'running' | 'completed' | 'failed' | 'cancelled';
  session: string | null;
  events: number;
  error?: { code: string };
}

/**
 * How long anything that must happen may take. The longest is a run that was taken from another process, and is left by its caller:
 * for 20 seconds, it may have followers in a process that has not been heard of.
 */
const DEADLINE_MS = 30_000;

/** The host of a schedule, its clients, and the checks that compare them with the model. */
export class World {
  readonly clients = new Set<Client>();
  #url = '';
  #texts = 0;
  #isOver = false;

  constructor(
    readonly model: Model,
    public host: Host,
    readonly options: HostOptions,
    readonly figures: Figures,
  ) {}

  get isDurable(): boolean {
    return this.model.isDurable;
  }

  get base(): string {
    return this.#url;
  }

  /** A text that nothing else has. */
  newText(): string {
    return `text ${++this.#texts}.`;
  }

  async open(): Promise<void> {
    this.#url = await this.host.tell('open', { ...this.options, clockOffset: this.model.clock });
  }

  /** Nothing more is checked: the schedule is over. */
  end(): void {
    this.#isOver = true;
    for (const client of this.clients) client.reply.cut();
  }

  clientsOf(run: ModelRun): Client[] {
    return [...this.clients].filter((client) => client.run === run);
  }

  /** Rejects if something takes too long. */
  async within<T>(what: string, work: Promise<T>, milliseconds = DEADLINE_MS): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`Waited too long: ${what}.`)), milliseconds);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Waits until a condition holds. What it returns otherwise says what is missing. */
  async until(what: string, missing: () => Promise<string | undefined>): Promise<void> {
    const deadline = Date.now() + DEADLINE_MS;
    for (;;) {
      const fault = await missing();
      if (fault === undefined) return;
      if (this.#isOver || Date.now() > deadline) throw new Error(`Waited too long: ${what}: ${fault}`);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  async post(submission: Submission, isAsync: boolean, headers: Record<string, string> = {}): Promise<Reply> {
    const all = { ...headersOf(submission), ...(isAsync && { prefer: 'respond-async' }), ...headers };
    const reply = await request(this.base, { headers: all }, bodyOf(submission));
    this.figures.count('answers', reply.status);
    return reply;
  }

  /** Follows a run as a new client. */
  async follow(run: ModelRun, after = 0): Promise<Reply> {
    return follow(this.base, run.id, {
      'x-owner': run.owner,
      ...(after > 0 && { 'last-event-id': `${run.id}.${after}` }),
    });
  }

  addClient(reply: Reply, run: ModelRun, after: number): Client {
    assert.equal(reply.status, 200);
    const client = new Client(reply, run, after);
    this.clients.add(client);
    return client;
  }

  /** Returns the JSON of a run; undefined if it is not found. */
  async read(run: ModelRun): Promise<RunJson | undefined> {
    const reply = await get(this.base, `/query/${run.id}`, { 'x-owner': run.owner });
    if (reply.status === 404) return undefined;
    assert.equal(reply.status, 200);
    return reply.json<RunJson & Record<string, unknown>>();
  }

  /** Waits until everything that the model says has happened, and checks that nothing else has. */
  async settle(): Promise<void> {
    for (let next = this.model.nextToStart(); next.length > 0; next = this.model.nextToStart()) {
      await this.until(`one of ${next.map(({ id }) => id).join()} starts`, async () =>
        next.some(({ id }) => this.host.calls.has(id))
          ? undefined
          : JSON.stringify(await this.host.tell('load')),
      );
      const started = next.find(({ id }) => this.host.calls.has(id))!;
      this.#checkCall(started);
      this.model.start(started);
    }
    for (const client of [...this.clients]) if (client.run.status === 'ended') await this.#readEnd(client);
    await this.until('the load is that of the model', async () => {
      const load = await this.host.tell('load');
      const expected = this.#expectedLoad();
      return isDeepStrictEqual(load, expected)
        ? undefined
        : `${JSON.stringify(load)} instead of ${JSON.stringify(expected)}`;
    });
    for (const { id, status, isExecuting } of this.model.runs.values()) {
      if (status === 'waiting' && !isExecuting)
        assert(!this.host.calls.has(id), `run ${id} has started too early`);
    }
  }

  /**
   * Waits until a message is in the log, and until the followers of the run have read it.
   *
   * @param after the number of an envelope before it
   */
  async awaitMessage(run: ModelRun, text: string, after: number): Promise<void> {
    const followers = this.clientsOf(run);
    for (const follower of followers) {
      await this.within(`a follower of ${run.id} reads ${text}`, follower.hasRead(text));
      follower.note();
    }
    if (followers.length > 0) return;
    // A follower that leaves makes no difference here: only a detached run has no followers.
    const witness = await this.#followKept(run, after);
    await this.within(`the log of ${run.id} has ${text}`, witness.hasRead(text));
    witness.cut();
  }

  /** Reads the whole log of a run that has ended, as far as it is kept. */
  async readLog(run: ModelRun): Promise<string[]> {
    const client = await this.#followKept(run, 0);
    await this.within(`the log of ${run.id} ends`, client.finished());
    return client.texts;
  }

  /** Follows a run after an envelope, or after the last one that is no longer kept. */
  async #followKept(run: ModelRun, after: number): Promise<Client> {
    const reply = await this.follow(run, after);
    if (reply.status === 200) return new Client(reply, run, after);
    assert.equal(reply.status, 410);
    assert(this.options.settings.keepsShortLogs, `the log of ${run.id} was trimmed`);
    const { oldest } = await reply.json<{ oldest: number }>();
    assert(oldest > after + 1);
    return this.#followKept(run, oldest - 1);
  }

  #expectedLoad() {
    const { model } = this;
    return {
      running: model.running,
      waiting: model.unfinished.filter((run) => run.status === 'waiting' && run.isKnownToHost).length,
      followers: [...this.clients].filter(({ run }) => run.status !== 'ended').length,
      // The handlers of this program do not ask: `asking.mjs` does that.
      asking: 0,
      overdue: model.overdue.length,
    };
  }

  async #readEnd(client: Client): Promise<void> {
    await this.within(`a follower of ${client.run.id} reads the end (${client.run.end})`, client.finished());
    const { id, end } = client.run;
    const read = endOf(client.texts);
    assert(read !== undefined, `the stream of ${id} has ended without done`);
    // How a run ended that was erased at the same moment cannot be known.
    if (end !== undefined) assert.equal(read, end, `how ${id} ended`);
    this.clients.delete(client);
  }

  #checkCall(run: ModelRun): void {
    const call = this.host.calls.get(run.id)!;
    assert.equal(call.text, run.text);
    assert.equal(call.file, run.hasFile ? FILE_TEXT : undefined);
    const turns = run.session === undefined ? undefined : this.model.session(run.owner, run.session)!.turns;
    assert.deepEqual(
      call.turns,
      turns?.map(({ id }) => id),
      `the turns for ${run.id}`,
    );
  }
}

/** The number of envelopes from the first one that clients have seen without a gap. */
export function knownEvents(run: ModelRun): number {
  let count = 0;
  while (run.seen[count] !== undefined) count++;
  return count;
}

/**
 * Checks what the log of an ended run has.
 *
 * @param isTrimmed whether its beginning may have been dropped
 */
export function checkLog(run: ModelRun, texts: string[], isTrimmed: boolean): void {
  assert.equal(endOf(texts), run.end, `the end of ${run.id}`);
  const messages = messagesOf(texts);
  const sure = run.emitted.slice(0, run.unsureFrom);
  const first = run.emitted.indexOf(messages[0] ?? '');
  const expected = run.emitted.slice(Math.max(0, first), Math.max(0, first) + messages.length);
  assert.deepEqual(messages, expected, `the messages of ${run.id}`);
  assert(isTrimmed || first <= 0, `the first messages of ${run.id}`);
  const isWhole =
    messages.length === 0 ? sure.length === 0 || isTrimmed : first + messages.length >= sure.length;
  assert(isWhole, `the last messages of ${run.id}: ${messages.length} of ${sure.length}`);
}

export function headersOf({ owner, key, afterTurn }: Submission): Record<string, string> {
  return {
    'content-type': 'application/json',
    'x-owner': owner,
    ...(key !== undefined && { 'idempotency-key': key }),
    ...(afterTurn !== undefined && { 'session-after': String(afterTurn) }),
  };
}

export function bodyOf({ session, text, isDeaf, hasFile }: Submission): string {
  const file = {
    type: 'file',
    name: 'a.txt',
    mimeType: 'text/plain',
    base64: Buffer.from(FILE_TEXT).toString('base64'),
  };
  return JSON.stringify({
    parts: [{ type: 'text', text }, ...(hasFile ? [file] : [])],
    kwargs: { deaf: isDeaf, ...(session !== undefined && { session_id: session }) },
  });
}

export function endOfJson({ status, error }: RunJson): End | undefined {
  if (status === 'waiting' || status === 'running') return undefined;
  return (error?.code ?? status) as End;
}
