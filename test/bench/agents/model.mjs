/**
 * What an answer of a model costs: text deltas a second, through the adapter `fromAiSdk` and through a service with `AGENT=model`,
 * each beside the AI SDK itself in the same round. Prints the medians of several rounds in turn, and their ratios: of the rates,
 * and of the deltas a second of CPU time, which other work on the machine does not change.
 *
 *     npm run build && node test/bench/agents/model.mjs [--deltas 20000] [--rounds 5]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText, ToolLoopAgent } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { fromAiSdk } from '../../../packages/ai-sdk/dist/index.js';
import { contextOf, queryOf } from '../../../dist/testing/index.js';

const { values } = parseArgs({
  options: { deltas: { type: 'string', default: '20000' }, rounds: { type: 'string', default: '5' } },
});
const DELTAS = Number(values.deltas);
const ROUNDS = Number(values.rounds);
const MAIN = resolve(import.meta.dirname, '../../../dist/main.js');

/** An endpoint that sends its deltas as fast as they are read, 50 in each chunk. */
const ENDPOINT = `
import http from 'node:http';
const delta = (choice) => 'data: ' + JSON.stringify({ id: 'a', model: 'm', choices: [{ index: 0, ...choice }] }) + '\\n\\n';
const server = http.createServer(async (request, response) => {
  request.resume();
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  const chunk = delta({ delta: { content: 'token ' } }).repeat(50);
  for (let sent = 0; sent < ${DELTAS}; sent += 50)
    if (!response.write(chunk)) await new Promise((go) => response.once('drain', go));
  response.end(delta({ delta: {}, finish_reason: 'stop' }) + 'data: [DONE]\\n\\n');
});
server.listen(0, '127.0.0.1', () => console.log('listens on http://127.0.0.1:' + server.address().port));
`;

/** A model in this process. */
function fakeModel() {
  async function* parts() {
    yield { type: 'stream-start', warnings: [] };
    yield { type: 'text-start', id: '1' };
    for (let sent = 0; sent < DELTAS; sent += 1) yield { type: 'text-delta', id: '1', delta: 'token ' };
    yield { type: 'text-end', id: '1' };
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: DELTAS } };
    yield { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage };
  }
  return new MockLanguageModelV3({ doStream: async () => ({ stream: ReadableStream.from(parts()) }) });
}

async function readSdk(model) {
  let count = 0;
  const { fullStream } = streamText({ model, prompt: 'go' });
  for await (const { type } of fullStream) if (type === 'text-delta') count += 1;
  return count;
}

async function readHandler(agent) {
  let count = 0;
  const answer = fromAiSdk(agent).handle(await queryOf('go'), await contextOf());
  for await (const { type } of answer) if (type === 'message') count += 1;
  return count;
}

async function readService(url) {
  const body = JSON.stringify({ parts: [{ type: 'text', text: 'go' }] });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/query`, { method: 'POST', headers, body });
  return (await response.text()).split('"type":"message"').length - 1;
}

const children = [];

async function start(args, environment = {}) {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, PORT: '0', DATABASE_URL: 'memory:', LOG_FORMAT: 'text', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  for await (const text of child.stdout) {
    const [, url] = /listens on (http:\S+)/.exec(String(text)) ?? [];
    if (url) {
      child.stdout.resume();
      return { url, pid: child.pid };
    }
  }
  throw new Error('The process ended before it listened.');
}

/** Milliseconds of CPU time of a process, in steps of ten. */
function cpuMs(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // proc(5): what follows the name of the program begins with the third field; utime and stime are the 14th and 15th.
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return 10 * (Number(user) + Number(system));
}

/** Deltas a second, and a second of CPU time. */
async function ratesOf({ read, pid = process.pid }) {
  const [began, used] = [performance.now(), cpuMs(pid)];
  const count = await read();
  if (count !== DELTAS) throw new Error(`${count} of ${DELTAS} deltas have arrived`);
  return [performance.now() - began, cpuMs(pid) - used].map((ms) => (1_000 * DELTAS) / ms);
}

const median = (rates) => rates.toSorted((a, b) => a - b)[rates.length >> 1];

/** Measures each way in turn. The first round warms up. The first way is what the others are held against. */
async function compare(title, ways) {
  const found = Object.fromEntries(Object.keys(ways).map((name) => [name, { wall: [], cpu: [] }]));
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const [name, way] of Object.entries(ways)) {
      const [wall, cpu] = await ratesOf(way);
      if (round === 0) continue;
      found[name].wall.push(wall);
      found[name].cpu.push(cpu);
    }
  const medians = Object.entries(found).map(([name, { wall, cpu }]) => [name, median(wall), median(cpu)]);
  const [[, ownWall, ownCpu]] = medians;
  console.log(title);
  for (const [name, wall, cpu] of medians) {
    const ratios = `${(wall / ownWall).toFixed(2)}, of CPU time ${(cpu / ownCpu).toFixed(2)}`;
    console.log(`  ${name}: ${Math.round(wall)} deltas/s, ratio ${ratios}`);
  }
}

try {
  await compare('A model in the process', {
    'AI SDK': { read: () => readSdk(fakeModel()) },
    'fromAiSdk, options': { read: () => readHandler({ model: fakeModel() }) },
    'fromAiSdk, agent': { read: () => readHandler(new ToolLoopAgent({ model: fakeModel() })) },
  });
  const endpoint = await start(['--input-type=module', '-e', ENDPOINT]);
  const service = await start([MAIN], { AGENT: 'model', MODEL_BASE_URL: endpoint.url, MODEL: 'm' });
  const provider = createOpenAICompatible({ name: 'model', baseURL: endpoint.url });
  await compare('An endpoint over HTTP', {
    'AI SDK': { read: () => readSdk(provider.chatModel('m')) },
    'AGENT=model, with its HTTP': { read: () => readService(service.url), pid: service.pid },
  });
} finally {
  for (const child of children) {
    child.kill();
    await once(child, 'exit');
  }
}
