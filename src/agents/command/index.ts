/**
 * The agent that executes a program, as hosts import it from `nest-agent-query/agents/command`.
 */
export { checkCommand } from './check-command.js';
export { commandHandler } from './command-handler.js';
export type { CommandOptions } from './command-options.js';
