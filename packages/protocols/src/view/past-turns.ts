import { Buffer } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import { type AgentService, type Envelope, QueryError, type RunView, type Turn } from 'nest-agent-query';
import type { ReadLog, StreamForm } from 'nest-agent-query/protocol';

/** How many turns are read at once. */
const PAGE = 20;

/** How many unfinished runs of a session are read. */
const UNFINISHED = 500;

/** Makes a form, which reads a log from its beginning. */
type MakeForm<Form> = () => Form;

/** A query of a session, and what its run has said so far. */
export interface PastTurn {
  runId: string;
  /** The parts of the query, after the earlier texts that were sent along. Texts are whole. */
  parts: Turn['parts'];
  /** How the run has ended; undefined if it has not. */
  end: Turn['end'] | undefined;
  /** Whether the run asks. */
  isAsking: boolean;
  /** Reads the log of the run as far as it goes. If it is no longer kept, the form gets what the turn has of it. */
  read: <Form extends StreamForm>(make: MakeForm<Form>) => Promise<Form>;
}

type Json = Record<string, unknown>;

/** All that was said in a session, oldest first: its turns, and its runs that have not ended. */
export class PastTurns {
  constructor(
    private readonly agent: AgentService,
    private readonly owner: string,
    private readonly session: string,
  ) {}

  /** @throws {QueryError} `not_found`: the owner has no such session */
  async *all(): AsyncGenerator<PastTurn> {
    // First: a run that ends meanwhile is among these, in the turns, or in both.
    const unfinished = await this.#unfinished();
    for (let after: number | null = 0; after !== null;) {
      const page: { turns: Turn[]; next: number | null } = await this.agent.session(
        ...([this.owner, this.session, after, PAGE] as const),
      );
      for (const turn of page.turns) {
        unfinished.delete(turn.runId);
        yield await this.#ended(turn);
      }
      after = page.next;
    }
    for (const run of unfinished.values()) yield await this.#unfinishedTurn(run);
  }

  /** The runs that have not ended, oldest first. None of them is a turn yet. */
  async unfinished(): Promise<PastTurn[]> {
    const runs = [...(await this.#unfinished()).values()];
    return Promise.all(runs.map((run) => this.#unfinishedTurn(run)));
  }

  async #ended(turn: Turn): Promise<PastTurn> {
    const { runId, end } = turn;
    const parts = await this.#wholeParts(runId, turn.parts);
    return {
      ...{ runId, parts, end, isAsking: false },
      read: async (make) =>
        (await this.#readLog(runId, make)) ?? readEnvelopes(await this.#kept(turn), make()),
    };
  }

  async #unfinishedTurn({ id: runId, status }: RunView): Promise<PastTurn> {
    const parts = await this.#wholeParts(runId, (await this.agent.parts(this.owner, runId)) ?? []);
    return {
      ...{ runId, parts, end: undefined, isAsking: status === 'input_required' },
      read: async (make) =>
        (await this.#readLog(runId, make)) ?? readEnvelopes(await this.#open(runId), make()),
    };
  }

  /** Undefined if the log is no longer kept. */
  async #readLog<Form extends StreamForm>(runId: string, make: MakeForm<Form>): Promise<Form | undefined> {
    try {
      const { run, read } = await this.agent.follow(this.owner, runId).admitted;
      return await readPresent(read, make(), run!.events);
    } catch (error) {
      if (isGone(error) || (error as QueryError).code === 'cursor_expired') return undefined;
      throw error;
    }
  }

  /** What a turn keeps of the log. */
  async #kept(turn: Turn): Promise<Envelope[]> {
    const { runId, truncated, text, envelopes, end } = turn;
    const rest = truncated ? (await this.#wholeText(runId, turn)).slice(text.length) : '';
    // A page cuts the contents of messages where it cuts the text.
    const cut = envelopes.findLast(
      ({ type, data }) => type === 'message' && (data as Json)['content'] !== '',
    );
    const all = envelopes.map((envelope) => (envelope === cut ? lengthened(envelope, rest) : envelope));
    return [...all, { type: 'done', data: end }];
  }

  /** What a run still asks. */
  async #open(runId: string): Promise<Envelope[]> {
    const { inputs } = await this.agent.inputs.of(this.owner, runId);
    const requests = inputs.filter(({ resolved }) => !resolved);
    return requests.length === 0 ? [] : [{ type: 'input_required', data: { requests } }];
  }

  async #wholeParts(runId: string, parts: Turn['parts']): Promise<Turn['parts']> {
    const whole: Turn['parts'] = [];
    for (const part of parts) {
      const isCut = part.type === 'text' && part.truncated;
      whole.push(isCut ? { ...part, text: await this.#wholeText(runId, part) } : part);
    }
    return whole;
  }

  /** A text that a page of turns shows cut: what it shows, if the rest is no longer kept. */
  async #wholeText(runId: string, { text, sha256 }: { text: string; sha256?: string }): Promise<string> {
    try {
      const file = await this.agent.file(this.owner, runId, sha256!);
      const bytes: Uint8Array[] = [];
      for await (const piece of (await file.read()) ?? []) bytes.push(piece);
      return bytes.length === 0 ? text : Buffer.concat(bytes).toString();
    } catch (error) {
      if (isGone(error)) return text;
      throw error;
    }
  }

  /** The runs that have not ended, in the order in which they execute. */
  async #unfinished(): Promise<Map<string, RunView>> {
    const found: RunView[] = [];
    for (const status of ['input_required', 'running', 'waiting'] as const) {
      const options = { session: this.session, status, limit: UNFINISHED };
      found.push(...(await this.agent.runs(this.owner, options)).runs.reverse());
    }
    return new Map(found.map((run) => [run.id, run]));
  }
}

/** Reads a log up to an envelope. */
async function readPresent<Form extends StreamForm>(read: ReadLog, form: Form, last: number): Promise<Form> {
  for (let after = 0; after < last && !form.isOver;) {
    const slice = await read(after);
    if (slice.count === 0) break;
    form.framesOf(slice);
    after = slice.first + slice.count - 1;
    // A long log must not hold the event loop.
    await setImmediate();
  }
  return form;
}

function readEnvelopes<Form extends StreamForm>(envelopes: Envelope[], form: Form): Form {
  const lines = envelopes.map((envelope) => JSON.stringify(envelope)).join('\n');
  if (envelopes.length > 0)
    form.framesOf({ lines, first: 1, count: envelopes.length, endOffset: lines.length, ended: true });
  return form;
}

function lengthened({ type, data }: Envelope, rest: string): Envelope {
  const { content, ...members } = data as { content: string };
  return { type, data: { ...members, content: content + rest } };
}

function isGone(error: unknown): boolean {
  return error instanceof QueryError && error.code === 'not_found';
}
