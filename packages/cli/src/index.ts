export { commandLine } from './command-line.js';
export { runCommand } from './run-command.js';
