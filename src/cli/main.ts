#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { commandLine, runCommand } from 'nest-agent-query-cli';
import { neverBlock } from '../service/process-outputs.js';
import { keysCommand } from './keys.js';
import { serveCommand } from './serve.js';

/** The command line of the package. */
const given = process.argv.slice(2);
const program = commandLine(version(), [serveCommand(), keysCommand()]);
neverBlock(process.stdout);
await runCommand(program, given.length > 0 ? given : ['--help']);

function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
