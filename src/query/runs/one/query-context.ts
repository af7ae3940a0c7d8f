import { QueryError } from '../../contract/errors.js';
import type { FileEnvelope, Turn, TurnFile } from 'nest-agent-query-client';
import { type Files, OpenedFiles } from '../../files/files.js';
import type { QueryContext, QueryPart } from '../../ports/agent-handler.js';
import type { RunRecord, RunStore, StoredQuery } from '../../ports/run-store.js';
import { ownerOfModule } from '../../sharing/owners.js';
import { type EarlierText, turnsAt, turnsOf } from '../earlier-texts.js';

/** The most characters of JSON that the state of a checkpoint has. */
const CHECKPOINT_LENGTH = 1024 * 1024;

/** The most characters of JSON that the turns of a page, or the turns that a handler is given, have together. */
export const MAX_TURNS_LENGTH = 8 * 1024 * 1024;

/** With what a handler is called. */
interface Beginning {
  /** The state of the last checkpoint of the run, as JSON. */
  checkpoint: string | undefined;
  /** See `QueryOptions.earlier`. */
  earlier: readonly EarlierText[] | undefined;
  /** How many earlier turns of the session the handler is given at most. */
  sessionTurns: number;
  /** Lets the run ask, until `close`. */
  ask: QueryContext['ask'];
}

/**
 * Makes the context that a handler is given, and closes what the handler opened through it. It does not refer to the execution:
 * what a handler keeps of its context would keep the whole run. Measured, a small query would take a quarter longer.
 */
export class ContextOfRun {
  #openedFiles: OpenedFiles | undefined;
  #controller: AbortController | undefined;
  #reason: Error | undefined;
  #ask: QueryContext['ask'] | undefined;

  constructor(
    private readonly store: RunStore,
    private readonly files: Files,
  ) {}

  async create(run: RunRecord, { checkpoint, earlier, sessionTurns, ask }: Beginning): Promise<QueryContext> {
    this.#ask = ask;
    const signal = () => this.#signal();
    const { attempt } = run;
    const state: unknown = checkpoint === undefined ? undefined : JSON.parse(checkpoint);
    const isAlone = run.sessionId === undefined && !earlier;
    const { session, history } = isAlone
      ? { session: undefined, history: [] }
      : await this.#conversation(run, sessionTurns, earlier);
    return {
      runId: run.id,
      owner: ownerOfModule(run.owner).owner,
      trace: run.trace,
      session,
      history,
      resumed: attempt === 1 ? undefined : { attempt, state },
      ask: async (...asked) => this.#asking(...asked),
      checkpoint: async (newState) => this.store.saveCheckpoint(run, checkpointText(newState)),
      get signal() {
        return signal();
      },
    };
  }

  /** The parts of the query, with their files, as the store has them. */
  restore(runId: string, parts: StoredQuery['parts']): Promise<QueryPart[]> {
    return this.files.restore(runId, parts, this.#opened);
  }

  abort(reason: Error): void {
    this.#reason = reason;
    this.#controller?.abort(reason);
  }

  close(): void {
    this.#ask = undefined;
    this.#openedFiles?.close();
  }

  #asking(...asked: Parameters<QueryContext['ask']>): ReturnType<QueryContext['ask']> {
    if (!this.#ask || this.#reason) throw this.#reason ?? new Error('The run has ended.');
    return this.#ask(...asked);
  }

  async #conversation(
    { id: runId, owner, sessionId, createdAt }: RunRecord,
    limit: number,
    earlier: readonly EarlierText[] = [],
  ): Promise<Pick<QueryContext, 'session' | 'history'>> {
    const sent = turnsOf(earlier, { runId, createdAt: new Date(createdAt).toISOString() });
    if (sessionId === undefined) return { session: undefined, history: sent };
    const page = { after: undefined, limit, maxLength: MAX_TURNS_LENGTH };
    const kept = await this.store.turns(owner, sessionId, page);
    const { turns, total } = kept ?? { turns: [], total: 0 };
    const file = (sha256: string) => this.#openFile(turns, sha256);
    return {
      session: { id: sessionId, olderTurns: total - turns.length, file },
      history: [...turns.flatMap(turnsAt), ...sent],
    };
  }

  /** Opens a file of the newest of these turns that has it. */
  async #openFile(turns: Turn[], sha256: string): Promise<File> {
    for (const turn of turns.toReversed()) {
      const file = filesOf(turn).find((file) => file.sha256 === sha256);
      if (file) return this.files.open(turn.runId, file, this.#opened);
    }
    throw new QueryError('not_found', 'No turn of the session has a file with this digest.');
  }

  get #opened(): OpenedFiles {
    return (this.#openedFiles ??= new OpenedFiles());
  }

  /** Created on first use: an AbortController is the largest object of an idle run. */
  #signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }
}

function filesOf({ parts, envelopes }: Turn): TurnFile[] {
  const emitted = envelopes.filter((envelope): envelope is FileEnvelope => envelope.type === 'file');
  const ofAnswer = emitted.map(({ data }): TurnFile => ({ type: 'file', ...data }));
  return [...parts.filter((part) => part.type === 'file'), ...ofAnswer];
}

/**
 * The state of a checkpoint as a store keeps it.
 *
 * @throws {TypeError} JSON cannot represent the state · {RangeError} it is too long
 */
export function checkpointText(state: unknown): string {
  const text = JSON.stringify(state) as string | undefined;
  if (text === undefined)
    throw new TypeError('The state of a checkpoint must be a value that JSON can represent.');
  if (text.length <= CHECKPOINT_LENGTH) return text;
  throw new RangeError(
    `The state of a checkpoint has ${text.length} characters of JSON, more than the ${CHECKPOINT_LENGTH} allowed.`,
  );
}
