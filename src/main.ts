import { runCommand } from 'nest-agent-query-cli/run-command';
import { serveCommand } from './cli/serve.js';
import { neverBlock } from './service/process-outputs.js';

/** The standalone service, as a program without other commands: it does not load those of the command line. */
neverBlock(process.stdout);
await runCommand(serveCommand('node dist/main.js'), process.argv.slice(2));
