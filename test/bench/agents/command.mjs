/**
 * What the agent `command` costs: how many lines a second of a program arrive through the service as events, compared with reading
 * the output of the same program directly.
 *
 *     node test/bench/agents/command.mjs [lines]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';

const LINES = Number(process.argv[2] ?? 100_000);
const ROUNDS = 5;
/** The environment of the program in both cases: `PYTHONUNBUFFERED`, for example, changes its rate. */
const ENVIRONMENT = { PATH: process.env.PATH };
const MAIN = resolve(import.meta.dirname, '../../../dist/main.js');

/** Programs that write so many lines: of text, and of JSON. */
const PROGRAMS = {
  text: `python3 -c 'for i in range(${LINES}): print("token", i)'`,
  envelopes: `python3 -c 'for i in range(${LINES}): print("{\\"type\\":\\"message\\",\\"data\\":{\\"content\\":\\"token", i, "\\"}}")'`,
};

for (const [name, command] of Object.entries(PROGRAMS)) {
  const service = await startService(command);
  const rates = { direct: [], service: [] };
  for (let round = 0; round < ROUNDS; round++) {
    rates.direct.push(await rateOf(() => readDirectly(command)));
    rates.service.push(await rateOf(() => readThroughService(service.url)));
  }
  service.process.kill('SIGTERM');
  await once(service.process, 'exit');
  const [direct, through] = [median(rates.direct), median(rates.service)];
  const ratio = (through / direct).toFixed(2);
  console.log(`${name}: direct ${direct} lines/s, through the service ${through} events/s, ratio ${ratio}`);
}

async function rateOf(read) {
  const began = performance.now();
  const count = await read();
  if (count !== LINES) throw new Error(`${count} of ${LINES} lines have arrived`);
  return Math.round((LINES / (performance.now() - began)) * 1000);
}

async function readDirectly(command) {
  const child = spawn('/bin/sh', ['-c', command], {
    env: ENVIRONMENT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return countOf(child.stdout, '\n');
}

async function readThroughService(url) {
  const response = await fetch(`${url}/query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ parts: [{ type: 'text', text: 'go' }] }),
  });
  return countOf(response.body, '"type":"message"');
}

/** How often a text occurs in a stream. */
async function countOf(stream, text) {
  const decoder = new TextDecoder();
  let count = 0;
  let rest = '';
  for await (const chunk of stream) {
    const pieces = (rest + decoder.decode(chunk, { stream: true })).split(text);
    count += pieces.length - 1;
    // A text that is cut by the end of a chunk counts with the next one.
    rest = pieces.at(-1).slice(-text.length + 1 || Infinity);
  }
  return count;
}

async function startService(command) {
  const child = spawn(process.execPath, [MAIN], {
    env: {
      ...ENVIRONMENT,
      PORT: '0',
      DATABASE_URL: 'memory:',
      AGENT: 'command',
      COMMAND: command,
      LOG_FORMAT: 'text',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    output += chunk;
    const [, url] = /listens on (\S+)/.exec(output) ?? [];
    if (!url) continue;
    child.stdout.resume();
    return { url, process: child };
  }
  throw new Error(output);
}

function median(values) {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
}
