import { Logger } from '@nestjs/common';
import { AgentHandler, type Envelope, type Query, type QueryContext } from 'nest-agent-query';
import { type RemoteOptions, remoteSettings } from 'nest-agent-query/agents/remote';
import { A2aAgent } from './a2a-agent.js';
import { TaskRun } from './task-run.js';

/** How the handler reaches the agent. */
export interface A2aOptions extends RemoteOptions {
  /** The URL of the agent card. It begins with `https:` or `http:`. Requests go to no other origin than that of the card. */
  url: string;
}

/** A task is followed, not begun again. So the limit is only for runs that never end. */
const RESTARTS = 1_000;

/** Passes queries on to an agent as messages, and what becomes of its tasks back. */
class A2aHandler extends AgentHandler {
  override readonly restarts = RESTARTS;
  readonly #agent: A2aAgent;
  readonly #logger: Logger;

  constructor(options: A2aOptions) {
    super();
    this.#logger = new Logger(options.name === undefined ? 'A2aAgent' : `A2aAgent ${options.name}`);
    this.#agent = new A2aAgent(remoteSettings(options, 'a2aHandler'));
  }

  override handle(query: Query, context: QueryContext): AsyncIterable<Envelope> {
    return new TaskRun(this.#agent, query, context, this.#logger).envelopes();
  }
}

/**
 * Makes a handler that asks an agent which speaks A2A 1.0 (JSON-RPC or REST). A cut between the two is resumed, a cancelled run
 * cancels the task, and a run goes on after a restart of this process: no message is executed twice.
 *
 * @param options where the agent card is
 * @throws {TypeError} an option is not valid
 *
 * @example
 * QueryModule.forRoot({
 *   handler: a2aHandler({ url: 'https://agent.example.com/.well-known/agent-card.json' }),
 * });
 */
export function a2aHandler(options: A2aOptions): AgentHandler {
  return new A2aHandler(options);
}
