export { commandLine } from './command-line.js';
export { type KeyRules, keysCommand } from './keys.js';
export { runCommand } from './run-command.js';
export type { OpenDatabase, OperatorDatabase } from './operator/database.js';
