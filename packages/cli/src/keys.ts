import { appendFile, readFile } from 'node:fs/promises';
import process from 'node:process';
import { Command } from 'commander';
import { tableOf } from './table.js';

/** An API key as a service knows it. */
interface ApiKey {
  name: string;
  sha256: string;
  expires?: string | undefined;
}

/** What a service does with API keys. Faulty keys and names are a `TypeError`. */
export interface KeyRules {
  createApiKey: (name: string) => { key: string; configured: ApiKey };
  /** A key as a variable or a file has it. */
  textOfKey: (key: ApiKey) => string;
  apiKeysOf: (text: string | undefined) => ApiKey[];
  readKeysFile: (path: string) => Promise<ApiKey[]>;
  /** In milliseconds of Unix; NaN if the text is no time. */
  expiryOf: (expires: string | undefined) => number;
}

/** What a command prints. Whatever it throws is an error of the command line. */
type Work = (rules: KeyRules, given: string, options: { expires?: string; add?: string }) => Promise<string>;

/**
 * `nest-agent-query keys …`: makes API keys, and lists them.
 *
 * @param rules what the service does with keys
 *
 * @example
 * commandLine('0.1.0', [keysCommand({ apiKeysOf, createApiKey, expiryOf, readKeysFile, textOfKey })], openDatabase);
 */
export function keysCommand(rules: KeyRules): Command {
  const printing = (work: Work) => async (given: string, options: object, command: Command) => {
    const text = await work(rules, given, options).catch((error: Error) =>
      command.error(`error: ${error.message}`),
    );
    process.stdout.write(text);
  };
  const keys = new Command('keys').description('Make and list API keys for the service.').helpCommand(false);
  keys
    .command('create')
    .description('Print a new API key once, and the line that configures it.')
    .argument('<name>', 'who gets the key: 1 to 64 letters, digits, "_", "-" or "."')
    .option('--expires <when>', 'the last day of the key, 2027-01-31, or a time, 2027-01-31T18:00:00Z')
    .option('--add <file>', 'add the line to this file of keys, which is made if it is not there')
    .action(printing(create));
  keys
    .command('list')
    .description('List API keys: their names, the first digits of their digests, and when they expire.')
    .argument('[file]', 'a file of keys; without it, what API_KEYS and API_KEYS_FILE have')
    .action(printing(list));
  return keys;
}

const create: Work = async (rules, name, { expires, add }) => {
  const { key, configured } = rules.createApiKey(name);
  const entry = rules.textOfKey({ ...configured, expires });
  if (Number.isNaN(rules.expiryOf(expires)))
    throw new TypeError(
      '--expires must be a day such as 2027-01-31, or a time such as 2027-01-31T18:00:00Z.',
    );
  const next = add === undefined ? howToConfigure(entry) : await addTo(rules, add, name, entry);
  return `The key. It is shown only now, so give it to its user:\n\n${key}\n\n${next}`;
};

async function addTo(rules: KeyRules, file: string, name: string, entry: string): Promise<string> {
  await appendFile(file, '', { mode: 0o600 });
  const keys = await rules.readKeysFile(file);
  const isWhole = /(^|\n)$/.test(await readFile(file, 'utf8'));
  await appendFile(file, `${isWhole ? '' : '\n'}${entry}\n`);
  const count = keys.filter((each) => each.name === name).length + 1;
  return `${file} has its line now. A service with API_KEYS_FILE reads the file again by itself.
Keys of "${name}" in the file: ${count}.${count > 1 ? ' Remove the line of an old one when nobody uses it any more.' : ''}
`;
}

function howToConfigure(entry: string): string {
  return `The line to configure. It has only the digest of the key:

API_KEYS=${entry}

If API_KEYS has keys already, add a comma and this at its end, and start the service again:

${entry}

If API_KEYS_FILE names a file, add that as a line of the file instead. The service reads the file again by itself.
`;
}

const list: Work = async ({ apiKeysOf, readKeysFile, expiryOf }, given: string | undefined) => {
  const { API_KEYS, API_KEYS_FILE } = process.env;
  const file = given ?? API_KEYS_FILE;
  const keys = [
    ...(given === undefined ? apiKeysOf(API_KEYS) : []),
    ...(file ? await readKeysFile(file) : []),
  ];
  const rows = keys.map(({ name, sha256, expires }) => {
    const isOver = expiryOf(expires) <= Date.now();
    return [name, sha256.slice(0, 8), `${expires ?? 'never'}${isOver ? ' (expired)' : ''}`];
  });
  return tableOf(['NAME', 'DIGEST', 'EXPIRES'], rows, Infinity);
};
