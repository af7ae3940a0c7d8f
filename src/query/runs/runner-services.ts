import type { Logger } from '@nestjs/common';
import type { RunEnd } from 'nest-agent-query-client';
import { FollowerGroups } from '../event-log/follower-groups.js';
import type { Followers } from '../event-log/followers.js';
import { Files } from '../files/files.js';
import type { Spool } from '../files/spool.js';
import { MemoryFileStore } from '../memory/memory-file-store.js';
import { MEMORY_RETENTION_DEFAULTS } from '../memory/retention.js';
import type { RunOptions } from '../options/query.options.js';
import type { Settings } from '../options/settings.js';
import type { Clock } from '../platform/clock.js';
import { loggerOf } from '../platform/module-logger.js';
import type { AgentHandler, SessionRef } from '../ports/agent-handler.js';
import { type Dispatcher, signalDispatcher } from '../ports/other-processes.js';
import type { RunRecord, RunStore } from '../ports/run-store.js';
import { Budgets } from './budgets.js';
import type { Observation, Observers } from './observers.js';
import { SchemaChecks } from './schema-checks.js';
import { Traces } from './traces.js';
import { stackForLog, textForLog } from '../platform/text-for-log.js';

/** What all runs of a service share. */
export class RunnerServices {
  readonly options: Readonly<RunOptions>;
  readonly dispatcher: Dispatcher;
  /** The contents of files, if the store has none. */
  readonly contents: MemoryFileStore | undefined;
  readonly files: Files;
  readonly groups: FollowerGroups;
  readonly traces: Traces;
  readonly budgets: Budgets;
  readonly schemas: SchemaChecks;
  readonly logger: Logger;

  constructor(
    readonly store: RunStore,
    readonly handler: AgentHandler,
    readonly settings: Settings,
    readonly clock: Clock,
    readonly observers: Observers,
    spool: Spool,
  ) {
    this.options = settings.runs;
    this.dispatcher = settings.dispatcher ?? signalDispatcher(store.signals);
    this.contents = store.files ? undefined : new MemoryFileStore(MEMORY_RETENTION_DEFAULTS.filesBytes);
    if (this.contents) this.contents.spoolDirectory = settings.spoolDirectory;
    this.files = new Files(store.files ?? this.contents!, spool, settings.limits);
    this.groups = new FollowerGroups(store, (event, change) => observers.tell(event, () => change));
    this.traces = new Traces(settings.tracer);
    this.schemas = new SchemaChecks(clock);
    this.budgets = new Budgets(store, settings);
    this.logger = loggerOf('Runner', settings.name);
  }

  /** Lets the handler erase what it keeps of a session. What it throws is logged. */
  async tellErased(session: SessionRef): Promise<void> {
    try {
      await this.handler.sessionErased?.(session);
    } catch (error) {
      const failed = `The handler could not erase what it keeps of the session ${textForLog(JSON.stringify(session.id))}.`;
      this.logger.error(failed, stackForLog(error));
    }
  }
}

/** A run that is alive in this process, as its parts see it. */
export interface LiveRun {
  readonly id: string;
  readonly owner: string;
  readonly followers: Followers;
  readonly observation: Observation;
  /** Whether the end of the run is decided: then nothing more is written. */
  readonly hasEnded: boolean;
  /** Its disconnect policy. */
  readonly disconnects: { suspend(): void; resume(isDetached: boolean): void };
  /**
   * The run is about to ask. From now on it may be answered.
   *
   * @param told gets the envelopes of the answers that this process is told of, by their numbers
   * @returns the run, when this process has taken it again. Rejects with the reason of the signal: the run has ended, or goes on in
   * another attempt
   */
  awaitAnswers(told: Map<number, string>): Promise<RunRecord>;
  /** The store has what the run asks, and its slot is free. `survives`: see `Asking`. */
  asked(survives: boolean): void;
  /** The store has not taken what the run asks: it goes on. */
  notAsked(): void;
  stop(end: RunEnd): void;
  stopFailed(error: unknown): void;
}

export type NewRun = Pick<RunRecord, 'id' | 'owner' | 'sessionId' | 'detached' | 'trace'>;

export interface RunnerEvents<Runner> {
  /** The run asks: its slot is free. */
  paused(runner: Runner, survives: boolean): void;
  /** The run has left this process. `next`: a run that became ready by that, which may be this one again. */
  finished(runner: Runner, next: RunRecord | undefined): void;
  /** An overdue handler has stopped. */
  stoppedLate(runner: Runner): void;
}

export interface EndedRun {
  run: RunRecord;
  /** Whether the handler has really stopped. */
  stopped: boolean;
}
