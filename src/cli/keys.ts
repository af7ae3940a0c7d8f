import { Command } from 'commander';
import { createApiKey } from '../access/keys/api-key.js';

/** `nest-agent-query keys …` */
export function keysCommand(): Command {
  const keys = new Command('keys').description('Make API keys for the service.').helpCommand(false);
  keys
    .command('create')
    .description('Print a new API key once, and the line that configures it.')
    .argument('<name>', 'who gets the key: 1 to 64 letters, digits, "_", "-" or "."')
    .action((name: string, _options: unknown, command: Command) => create(name, command));
  return keys;
}

function create(name: string, command: Command): void {
  try {
    const { key, configured } = createApiKey(name);
    process.stdout.write(textOf(key, `${configured.name}:${configured.sha256}`));
  } catch (error) {
    command.error(`error: ${(error as Error).message}`);
  }
}

function textOf(key: string, entry: string): string {
  return `The key. It is shown only now, so give it to its user:

${key}

The line to configure. It has only the digest of the key:

API_KEYS=${entry}

If API_KEYS has keys already, add a comma and this at its end, and start the service again:

${entry}

If API_KEYS_FILE names a file, add that as a line of the file instead. The service reads the file again by itself.
`;
}
