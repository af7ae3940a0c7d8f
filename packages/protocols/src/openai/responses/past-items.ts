import { type AgentService, QueryError, type RunView, type SessionPage } from 'nest-agent-query';
import { invalidRequest } from '../refusals.js';
import { type InputItem, type ItemOrigin, unknownItem } from './input-items.js';

/** How many turns are read at once. */
const PAGE = 500;

/** What a session has of the items before a query. */
export interface KnownItems {
  /** How many: all up to the last one of a response of the session. */
  count: number;
  /** The newest of the responses that are named, with the place of its id; undefined if one of them has not ended, or none is named. */
  newest: { runId: string; pointer: string } | undefined;
}

type Origin = ItemOrigin & { index: number };

/**
 * The responses that the items before a query are of. What a request has only as a reference must be found. Of other items, the last
 * one counts if it is found: they are there themselves, and a client may have them from elsewhere.
 */
export class PastItems {
  readonly #references: Origin[];
  readonly #last: Origin | undefined;

  /** @param isStored whether the response belongs to a session also without a reference */
  constructor(
    private readonly agent: AgentService,
    private readonly owner: string,
    items: readonly InputItem[],
    isStored: boolean,
  ) {
    const named = items.flatMap(({ origin }, index) => (origin ? [{ ...origin, index }] : []));
    this.#references = named.filter(({ isReference }) => isReference);
    this.#last = isStored ? named.at(-1) : undefined;
  }

  /**
   * The session of the last response that is named.
   *
   * @throws {QueryError} `invalid_query`: a reference names nothing that the owner has
   */
  async session(): Promise<string | undefined> {
    const run = this.#last && (await this.#find(this.#last));
    if (run?.session != null) return run.session;
    const reference = this.#references.at(-1);
    const found = reference && (await this.#findIn(undefined, reference));
    return found?.session ?? undefined;
  }

  /**
   * @param previous a response of the session that the request names besides. Default: none
   * @throws {QueryError} `invalid_query`: a reference names nothing that the owner has in this session
   */
  async knownIn(session: string, previous?: RunView): Promise<KnownItems> {
    const pointers = new Map(previous && [[previous.id, '/previous_response_id']]);
    const named = [...this.#references, ...(this.#last ? [this.#last] : [])];
    for (const { runId, pointer } of named) pointers.set(runId, pointer);
    const turns = named.length === 0 ? [] : await this.#turns(session, new Set(pointers.keys()));
    const inTurns = new Set(turns);
    const others = new Map(previous && !inTurns.has(previous.id) ? [[previous.id, previous]] : []);
    for (const origin of named) {
      if (inTurns.has(origin.runId) || others.has(origin.runId)) continue;
      const run = await this.#findIn(session, origin);
      if (run) others.set(run.id, run);
    }
    const isKnown = ({ runId }: Origin) => inTurns.has(runId) || others.has(runId);
    const isOver = [...others.values()].every(({ endedAt }) => endedAt !== null);
    const runId = turns.at(-1) ?? [...others.keys()].at(-1);
    return {
      count: (named.findLast(isKnown)?.index ?? -1) + 1,
      newest: isOver && runId !== undefined ? { runId, pointer: pointers.get(runId)! } : undefined,
    };
  }

  /** The run of an item in a session. Default: in any. @returns undefined for an item that need not be found */
  async #findIn(session: string | undefined, origin: Origin): Promise<RunView | undefined> {
    const run = await this.#find(origin);
    if (run?.session != null && run.session === (session ?? run.session)) return run;
    if (!origin.isReference) return undefined;
    throw run ? elsewhere(origin, run) : unknownItem(origin.pointer);
  }

  async #find({ runId }: Origin): Promise<RunView | undefined> {
    try {
      return await this.agent.find(this.owner, runId);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** The runs, of those given, of which a session has turns, oldest first. */
  async #turns(session: string, runs: ReadonlySet<string>): Promise<string[]> {
    const found: string[] = [];
    try {
      const [only] = runs;
      if (runs.size === 1) return (await this.agent.turn(this.owner, session, only!)) ? [only!] : [];
      for (let after: number | null = 0; after !== null && found.length < runs.size;) {
        const page: SessionPage = await this.agent.session(this.owner, session, after, PAGE);
        found.push(...page.turns.map(({ runId }) => runId).filter((runId) => runs.has(runId)));
        after = page.next;
      }
    } catch (error) {
      // A session that the request names may begin with it.
      if (!isNotFound(error)) throw error;
    }
    return found;
  }
}

function elsewhere({ pointer }: Origin, { session }: RunView): QueryError {
  const where = session === null ? 'no conversation' : 'another conversation than the others';
  return invalidRequest(
    pointer,
    `is of a response that belongs to ${where}: send the item itself, with "store": false`,
  );
}

function isNotFound(error: unknown): boolean {
  return error instanceof QueryError && error.code === 'not_found';
}
