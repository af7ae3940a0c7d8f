import type { Logger } from '@nestjs/common';
import type { RunEnd } from 'nest-agent-query-client';
import { FollowerGroups, type Followers } from '../event-log/followers.js';
import { Files } from '../files/files.js';
import type { Spool } from '../files/spool.js';
import { MemoryFileStore } from '../memory/memory-file-store.js';
import { MEMORY_RETENTION_DEFAULTS } from '../memory/retention.js';
import type { RunOptions, Settings } from '../options/query.options.js';
import type { TypedKwargs } from '../options/typed-kwargs.js';
import type { Clock } from '../platform/clock.js';
import { loggerOf } from '../platform/operator-log.js';
import type { AgentHandler } from '../ports/agent-handler.js';
import type { RunStore } from '../ports/run-store.js';
import type { Observation } from './observation.js';
import type { Observers } from './observers.js';
import { Traces } from './traces.js';

/** What all runs of a service share. */
export interface RunnerServices {
  readonly store: RunStore;
  readonly handler: AgentHandler;
  readonly options: RunOptions;
  /** Undefined where the host has no class for kwargs. */
  readonly kwargs: TypedKwargs | undefined;
  readonly files: Files;
  /** The contents of files, if the store has none. */
  readonly contents: MemoryFileStore | undefined;
  /** The path of the endpoint, for runs whose callers used no other. */
  readonly path: string;
  readonly groups: FollowerGroups;
  readonly observers: Observers;
  readonly traces: Traces;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A run that is alive in this process, as its parts see it. */
export interface LiveRun {
  readonly id: string;
  readonly owner: string;
  readonly followers: Followers;
  readonly observation: Observation;
  /** Whether the end of the run is decided: then nothing more is written. */
  readonly hasEnded: boolean;
  stop(end: RunEnd): void;
  stopFailed(error: unknown): void;
}

export function servicesOf(
  given: Pick<RunnerServices, 'store' | 'handler' | 'clock' | 'observers'>,
  { runs, limits, kwargs, path, name, tracer, spoolDirectory }: Settings,
  spool: Spool,
): RunnerServices {
  const { store, observers } = given;
  const contents = store.files ? undefined : new MemoryFileStore(MEMORY_RETENTION_DEFAULTS.filesBytes);
  if (contents) contents.spoolDirectory = spoolDirectory;
  return {
    ...given,
    options: runs,
    kwargs,
    files: new Files(store.files ?? contents!, spool, limits),
    contents,
    path,
    groups: new FollowerGroups(store.signals, (event, message) => {
      if (observers.want(event)) observers.tell(event, message);
    }),
    traces: new Traces(tracer),
    logger: loggerOf('Runner', name),
  };
}
