import type { AgentHandler } from 'nest-agent-query';

/**
 * Makes a handler of an agent.
 *
 * @throws {Error} always, until the agent is written
 *
 * @example
 * QueryModule.forRoot({ handler: fromAcp() });
 */
export function fromAcp(): AgentHandler {
  throw new Error('Not written yet.');
}
