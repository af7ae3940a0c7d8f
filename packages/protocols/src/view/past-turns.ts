import { Buffer } from 'node:buffer';
import {
  type AgentService,
  type Envelope,
  QueryError,
  type RunStatus,
  type RunView,
  type SessionPage,
  type Turn,
} from 'nest-agent-query';
import type { StreamForm } from 'nest-agent-query/protocol';
import { readEnvelopes, readPresent } from './read-log.js';

/** How many turns are read at once. */
const PAGE = 20;

/** How many runs of a session with the same status are read. */
const MOST_RUNS = 500;

const UNFINISHED = ['input_required', 'running', 'waiting'] as const;

/** A query of a session, and what its run has said so far. */
export interface PastTurn {
  runId: string;
  /** The parts of the query, after the earlier texts that were sent along. Texts are whole. */
  parts: Turn['parts'];
  /** How the run has ended; undefined if it has not. */
  end: Turn['end'] | undefined;
  /** Whether the run asks. */
  isAsking: boolean;
  /** Whether it is the last one, and its run has not ended: a stream has the rest. */
  goesOn: boolean;
  /** Reads the log of the run as far as it goes. If it is no longer kept, the form gets what the turn has of it. */
  read: <Form extends StreamForm>(make: () => Form) => Promise<Form>;
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
    const unfinished = new Map((await this.#runs(UNFINISHED)).map((run) => [run.id, run]));
    for (let after: number | null = 0; after !== null;) {
      const page: SessionPage = await this.agent.session(this.owner, this.session, after, PAGE);
      for (const turn of page.turns) {
        unfinished.delete(turn.runId);
        yield await this.#ended(turn);
      }
      after = page.next;
    }
    const rest = [...unfinished.values()];
    for (const run of rest) yield { ...(await this.#unfinished(run)), goesOn: run === rest.at(-1) };
  }

  /** The runs that ask. */
  async asking(): Promise<PastTurn[]> {
    const runs = await this.#runs(['input_required']);
    return Promise.all(runs.map((run) => this.#unfinished(run)));
  }

  async #ended(turn: Turn): Promise<PastTurn> {
    const { runId, end } = turn;
    const parts = await this.#wholeParts(runId, turn.parts);
    const read = this.#reader(runId, () => this.#kept(turn));
    return { runId, parts, end, isAsking: false, goesOn: false, read };
  }

  async #unfinished({ id: runId, status }: RunView): Promise<PastTurn> {
    const parts = await this.#wholeParts(runId, (await this.agent.parts(this.owner, runId)) ?? []);
    const read = this.#reader(runId, () => this.#open(runId));
    return { runId, parts, end: undefined, isAsking: status === 'input_required', goesOn: false, read };
  }

  /** @param kept reads what there is besides a log that is no longer kept */
  #reader(runId: string, kept: () => Promise<Envelope[]>): PastTurn['read'] {
    return async (make) => {
      const form = make();
      try {
        await readPresent(this.agent.follow(this.owner, runId), form);
        return form;
      } catch (error) {
        if (!isGone(error)) throw error;
      }
      const again = make();
      readEnvelopes(await kept(), again);
      return again;
    };
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

  /** Unfinished runs, in the order in which they execute. */
  async #runs(statuses: readonly RunStatus[]): Promise<RunView[]> {
    const found: RunView[] = [];
    for (const status of statuses) {
      const options = { session: this.session, status, limit: MOST_RUNS };
      found.push(...(await this.agent.runs(this.owner, options)).runs.reverse());
    }
    return found;
  }
}

function lengthened({ type, data }: Envelope, rest: string): Envelope {
  const { content, ...members } = data as { content: string };
  return { type, data: { ...members, content: content + rest } };
}

function isGone(error: unknown): boolean {
  return error instanceof QueryError && (error.code === 'not_found' || error.code === 'cursor_expired');
}
