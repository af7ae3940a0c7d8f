import type { Logger } from '@nestjs/common';
import type { FollowerGroups } from '../event-log/run-followers.js';
import type { Files } from '../files/files.js';
import type { RunOptions } from '../options/query.options.js';
import type { TypedKwargs } from '../options/typed-kwargs.js';
import type { Clock } from '../platform/clock.js';
import type { AgentHandler } from '../ports/agent-handler.js';
import type { RunStore } from '../ports/run-store.js';
import type { Observers } from './observers.js';
import type { Traces } from './traces.js';

/** What all runners of a service share. */
export interface RunnerServices {
  readonly store: RunStore;
  readonly handler: AgentHandler;
  readonly options: RunOptions;
  /** Undefined where the host has no class for kwargs. */
  readonly kwargs: TypedKwargs | undefined;
  readonly files: Files;
  /** The path of the endpoint, for runs whose callers used no other. */
  readonly path: string;
  readonly groups: FollowerGroups;
  readonly observers: Observers;
  readonly traces: Traces;
  readonly clock: Clock;
  readonly logger: Logger;
}
