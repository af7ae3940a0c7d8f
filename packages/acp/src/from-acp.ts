import { Logger } from '@nestjs/common';
import {
  AgentHandler,
  type Envelope,
  type Query,
  type QueryContext,
  type SessionRef,
} from 'nest-agent-query';
import { DistinctCalls, Folders, leftoversEnded } from 'nest-agent-query-adapters';
import { type AcpOptions, acpSettings } from './acp-options.js';
import { Pool } from './process/pool.js';
import { AcpRun, type RunServices } from './run/acp-run.js';
import type { LivingAgent } from './run/living-agent.js';
import { poolKey, sessionName } from './run/workplace.js';

/**
 * Makes a handler of a coding agent that speaks the Agent Client Protocol, version 1, over its standard input and output. What the
 * agent asks before it acts is asked here. The agent executes commands with the rights of this process: run the service in a
 * container, or as a user who may do nothing else.
 *
 * @throws {TypeError} the command is empty, or an option is unknown or not valid · {RangeError} a number is out of its range
 *
 * @example
 * QueryModule.forRoot({ handler: fromAcp({ command: 'opencode acp', env: { OPENCODE_CONFIG: '/etc/opencode.json' } }) });
 */
export function fromAcp(options: AcpOptions): AgentHandler {
  return new AcpHandler(options);
}

class AcpHandler extends AgentHandler {
  override readonly restarts: number;
  readonly #services: RunServices;

  constructor(options: AcpOptions) {
    super();
    const settings = acpSettings(options);
    void leftoversEnded(settings.directory);
    this.restarts = settings.restarts;
    this.#services = {
      settings,
      folders: new Folders(settings),
      pool: new Pool<LivingAgent>(settings.processes, settings.keepMs),
      logger: new Logger(settings.name === undefined ? 'AcpAgent' : `AcpAgent ${settings.name}`),
    };
  }

  override handle(query: Query, context: QueryContext): AsyncIterable<Envelope> {
    const calls = new DistinctCalls(context);
    return new AcpRun(this.#services, query, calls.context, calls).envelopes();
  }

  /** Nest calls it when the host ends: agents that wait for the next turn of their session end before it. */
  onApplicationShutdown(): Promise<void> {
    return this.#services.pool.close();
  }

  /**
   * Removes what the agent has of the session, and what it has of the owner with the last one. Of a session that goes on the files
   * stay: they are the work of the user.
   */
  override async sessionErased({ owner, id, goesOn }: SessionRef): Promise<void> {
    const { pool, folders } = this.#services;
    await pool.end(poolKey(owner, id), (living) => living.erase());
    if (goesOn) await folders.forget(owner, sessionName(id));
    else await folders.erase(owner, sessionName(id));
  }
}
