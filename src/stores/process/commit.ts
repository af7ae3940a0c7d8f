import type { Move } from './journal.js';
import type { LocalRun, Waiting } from './local-run.js';
import type { LogCommit } from './log-commit.js';
import { endedRun } from '../rows/new-runs.js';
import type { Outbox } from '../rows/outbox.js';
import { endingOf } from '../rows/run-changes.js';
import { segmentsOf } from '../rows/segments.js';
import { withUsed } from '../rows/usage-rows.js';

/** What waits for one commit. All envelopes that are appended before it begins share one promise. */
export class Commit {
  /** What it has of each run. */
  runs: Waiting[] = [];
  /** Nothing of any run may stay in the journal. */
  isWhole = false;
  /** What has become of the endings; see `Written`. */
  ended = new Map<string, boolean>();
  /** The day for which its usage counts. */
  day = 0;
  /** The length of all envelopes, in characters. */
  length = 0;
  readonly done: Promise<void>;
  resolve!: () => void;
  reject!: (error: unknown) => void;

  constructor() {
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // A caller need not wait for what it appends. The rejection must not count as unhandled then.
    this.done.catch(() => undefined);
  }

  of(run: LocalRun): Waiting {
    return run.waiting?.done === this.done ? run.waiting : this.#add(run, []);
  }

  append(run: LocalRun, envelope: string): Waiting {
    const { waiting } = run;
    // An array that is made with its one element takes a third of the memory.
    if (waiting?.done !== this.done) return this.#add(run, [envelope]);
    waiting.envelopes.push(envelope);
    waiting.length += envelope.length;
    return waiting;
  }

  #add(run: LocalRun, envelopes: string[]): Waiting {
    const waiting: Waiting = { run, done: this.done, envelopes, length: envelopes[0]?.length ?? 0 };
    this.runs.push(waiting);
    return (run.waiting = waiting);
  }
}

/** The rows of what waits: the envelopes, and behind them the ends. */
export function rowsOf(taken: Waiting[], day: number, move: Move | undefined, outbox: Outbox): LogCommit {
  const commit: LogCommit = {
    runs: [],
    segments:
      move?.segments ?? taken.flatMap(({ run, envelopes }) => segmentsOf(run.id, run.logExtent, envelopes)),
    move,
    checkpoints: [],
    usage: [],
    endings: [],
    deliveries: [],
  };
  for (const { run, inserted, envelopes, length: added, checkpoint, used, ending } of taken) {
    // Most have envelopes only.
    if (!inserted && !checkpoint && !used && !ending) continue;
    const { id, process, attempt } = run;
    const usage = used && JSON.stringify(withUsed(run.usage, used, day));
    const { last, endOffset, length } = run.logExtent;
    if (ending) {
      const log = { last: last + envelopes.length, endOffset: endOffset + added, length: length + added };
      const row = endingOf(run, log, ending.end, ending.endedAt, usage);
      if (inserted) {
        commit.runs.push(endedRun(inserted.row, row));
        commit.segments.push(row);
      } else commit.endings.push(row);
      const { status } = ending.end;
      const event = { runId: run.id, status, seq: log.last + 1, at: ending.endedAt };
      commit.deliveries.push(...outbox.rowsOf(run.module, event));
      continue;
    }
    if (inserted) commit.runs.push({ ...inserted.row, usage: usage ?? null });
    else if (usage !== undefined) commit.usage.push({ run_id: id, process, attempt, usage });
    if (checkpoint) {
      const { state, after } = checkpoint;
      commit.checkpoints.push({ id, process, attempt, state, seq: last + after });
    }
  }
  return commit;
}
