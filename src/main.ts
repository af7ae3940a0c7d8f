import { runCommand } from './cli/run-command.js';
import { serveCommand } from './cli/serve.js';

/** The standalone service, as a program without other commands. */
await runCommand(serveCommand('node dist/main.js'), process.argv.slice(2));
