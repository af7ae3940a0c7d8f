import { runCommand } from './cli/run-command.js';
import { serveCommand } from './cli/serve.js';

/** The standalone service, as a program without other commands. */
const given = process.argv.slice(2);
await runCommand(await serveCommand(given, 'node dist/main.js'), given);
