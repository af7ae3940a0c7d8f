#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine, keysCommand, runCommand } from 'nest-agent-query-cli';
import { type ApiKey, apiKeysOf, createApiKey, expiryOf, textOfKey } from '../access/keys/api-key.js';
import { CODE_FOLDER } from '../query/platform/code-folder.cjs';
import { neverBlock } from '../service/process-outputs.js';
import { openDatabase } from './open-database.js';
import { serveCommand } from './serve.js';

/** The command line of the package. */
const given = process.argv.slice(2);
const keys = keysCommand({ apiKeysOf, createApiKey, expiryOf, readKeysFile, textOfKey });
const program = commandLine(version(), [serveCommand(), keys], openDatabase);
neverBlock(process.stdout);
await runCommand(program, given.length > 0 ? given : ['--help']);

/** Not loaded with the command line: it loads Nest. */
async function readKeysFile(path: string): Promise<ApiKey[]> {
  return (await import('../access/keys/keys-file.js')).readKeysFile(path);
}

function version(): string {
  const text = readFileSync(join(CODE_FOLDER, '../package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
