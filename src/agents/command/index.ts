/**
 * The agent that executes a program, as hosts import it from `nest-agent-query/agents/command`.
 */
export { checkCommand } from './check-command.js';
export { commandHandler } from './command-handler.js';
export type { CommandOptions } from './command-options.js';
export { ProcessGroup } from './process-group.js';
export { ProcessSlots } from './process-slots.js';
export { ProgramLog } from './program-log.js';
