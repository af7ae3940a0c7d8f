import { QueryError } from '../contract/errors.js';
import type { FileEnvelope, Turn, TurnFile } from 'nest-agent-query-client';
import { type Files, OpenedFiles } from '../files/files.js';
import type { QueryContext } from '../ports/agent-handler.js';
import type { RunRecord, RunStore } from '../ports/run-store.js';
import { ownerOfModule } from '../sharing/owners.js';

/** The most characters of JSON that the state of a checkpoint has. */
const CHECKPOINT_LENGTH = 1024 * 1024;

/** The most characters of JSON that the turns of a page, or the turns that a handler is given, have together. */
export const MAX_TURNS_LENGTH = 8 * 1024 * 1024;

/** Makes the context that a handler is given, and closes what the handler opened through it. */
export class ContextOfRun {
  #opened: OpenedFiles | undefined;
  #controller: AbortController | undefined;
  #reason: Error | undefined;

  constructor(
    private readonly store: RunStore,
    private readonly files: Files,
  ) {}

  /**
   * @param checkpoint the state of its last checkpoint, as JSON
   * @param sessionTurns how many earlier turns the handler is given at most
   * @throws {QueryError} `unavailable`: the store cannot be read
   */
  async create(run: RunRecord, checkpoint: string | undefined, sessionTurns: number): Promise<QueryContext> {
    const signal = () => this.#signal();
    const { attempt } = run;
    return {
      runId: run.id,
      owner: ownerOfModule(run.owner).owner,
      trace: run.trace,
      ...(await this.#conversation(run, sessionTurns)),
      resumed: attempt === 1 ? undefined : { attempt, state: stateOf(checkpoint) },
      checkpoint: async (state) => this.store.keep(run, { state: checkpointText(state) }),
      get signal() {
        return signal();
      },
    };
  }

  abort(reason: Error): void {
    this.#reason = reason;
    this.#controller?.abort(reason);
  }

  close(): void {
    this.#opened?.close();
  }

  async #conversation(
    { owner, sessionId }: RunRecord,
    limit: number,
  ): Promise<Pick<QueryContext, 'session' | 'history'>> {
    if (sessionId === undefined) return { session: undefined, history: [] };
    const page = { after: undefined, limit, maxLength: MAX_TURNS_LENGTH };
    const kept = await this.store.turns(owner, sessionId, page);
    const { turns, total } = kept ?? { turns: [], total: 0 };
    const olderTurns = total - turns.length;
    return {
      session: { id: sessionId, olderTurns, file: (sha256) => this.#openFile(turns, sha256) },
      history: turns,
    };
  }

  /** Opens a file of the newest of these turns that has it. */
  async #openFile(turns: Turn[], sha256: string): Promise<File> {
    for (const turn of turns.toReversed()) {
      const file = filesOf(turn).find((file) => file.sha256 === sha256);
      if (!file) continue;
      const { runId } = turn;
      this.#opened ??= new OpenedFiles();
      return this.files.open(runId, file, this.#opened);
    }
    throw new QueryError('not_found', 'No turn of the session has a file with this digest.');
  }

  /** Created on first use: an AbortController is the largest object of an idle run. */
  #signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }
}

/** The files of the query and of its answer. */
function filesOf({ parts, envelopes }: Turn): TurnFile[] {
  const emitted = envelopes.filter((envelope): envelope is FileEnvelope => envelope.type === 'file');
  return [
    ...parts.filter((part) => part.type === 'file'),
    ...emitted.map(({ data }) => ({ type: 'file' as const, ...data })),
  ];
}

function stateOf(checkpoint: string | undefined): unknown {
  return checkpoint === undefined ? undefined : JSON.parse(checkpoint);
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
