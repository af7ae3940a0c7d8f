#!/usr/bin/env node
/** The command `create-nest-agent-query`, which `npm create nest-agent-query` executes. */
import { relative } from 'node:path';
import process from 'node:process';
import { readCommandLine, USAGE } from './command-line.js';
import { type Agent, createApplication } from './create-application.js';
import { Refusal } from './refusal.js';

/** The exit codes: those of the command `nest-agent-query`. */
const EXIT = { failed: 1, usage: 2 };

try {
  const { folder, isHelp, ...given } = readCommandLine(process.argv.slice(2));
  if (isHelp) process.stdout.write(USAGE);
  else process.stdout.write(nextSteps(await createApplication(folder, given), folder, given.agent));
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.isMistyped ? EXIT.usage : EXIT.failed;
}

function nextSteps(name: string, folder: string, agent: Agent): string {
  const path = relative('', folder);
  // As a shell takes it.
  const shown = /^[\w./@~+-]*$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
  const commands = [...(path === '' ? [] : [`cd ${shown}`]), 'npm install', 'npm test', 'npm start'];
  return `${name} is ready: a NestJS application with an agent behind POST /query. Type next:

${commands.map((command) => `  ${command}\n`).join('')}
Then open http://127.0.0.1:3000/playground. It needs no key: README.md says how a ${agent === 'acp' ? 'coding agent' : agent} answers.
`;
}
