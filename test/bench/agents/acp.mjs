/**
 * What an agent that speaks ACP costs: text deltas a second through the adapter `fromAcp`, beside reading the same lines of the same
 * program as any client must, which splits and parses them. Prints the medians of several rounds in turn, and their ratios: of the
 * rates, and of the deltas a second of CPU time, which other work on the machine does not change. And what a process takes that is
 * kept for the next turn of its session: here and in the agent, which is the one of the tests.
 *
 *     npm run build && npm run adapters -- build && node test/bench/agents/acp.mjs [--deltas 200000] [--rounds 5] [--kept 8]
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { Logger } from '@nestjs/common';
import { fromAcp } from '../../../packages/acp/dist/index.js';
import { contextOf, queryOf } from '../../../dist/testing/index.js';

const { values } = parseArgs({
  options: {
    deltas: { type: 'string', default: '200000' },
    rounds: { type: 'string', default: '5' },
    kept: { type: 'string', default: '8' },
  },
});
const DELTAS = Number(values.deltas);
const ROUNDS = Number(values.rounds);
const KEPT = Number(values.kept);
const FLOOD = join(import.meta.dirname, 'acp-flood.mjs');
const SCRIPTED = resolve(import.meta.dirname, '../../../packages/acp/test/agent.mjs');
const env = { DELTAS: values.deltas };

Logger.overrideLogger(false);
const directory = await mkdtemp(join(tmpdir(), 'bench-acp-'));

/** Reads the characters of all deltas. */
async function readLines() {
  const child = spawn(process.execPath, [FLOOD, 'lines'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let [length, rest] = [0, ''];
  for await (const text of child.stdout.setEncoding('utf8')) {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const line of lines) length += JSON.parse(line).params.update.content.text.length;
  }
  return length;
}

async function readAdapter() {
  const handler = fromAcp({ command: process.execPath, args: [FLOOD], env, directory });
  let length = 0;
  for await (const { type, data } of handler.handle(await queryOf('go'), await contextOf()))
    if (type === 'message') length += data.content.length;
  return length;
}

function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Deltas a second, and a second of CPU time of this process. */
async function ratesOf(read, length) {
  const [began, used] = [performance.now(), cpuMs()];
  const got = await read();
  if (got !== length) throw new Error(`${got} of ${length} characters have arrived`);
  return [performance.now() - began, cpuMs() - used].map((ms) => (1_000 * DELTAS) / ms);
}

const median = (rates) => rates.toSorted((a, b) => a - b)[rates.length >> 1];

/** Measures each way in turn. The first round warms up. The first way is what the others are held against. */
async function compare(ways) {
  const length = await readLines();
  const found = Object.fromEntries(Object.keys(ways).map((name) => [name, { wall: [], cpu: [] }]));
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const [name, way] of Object.entries(ways)) {
      const [wall, cpu] = await ratesOf(way, length);
      if (round === 0) continue;
      found[name].wall.push(wall);
      found[name].cpu.push(cpu);
    }
  const medians = Object.entries(found).map(([name, { wall, cpu }]) => [name, median(wall), median(cpu)]);
  const [[, ownWall, ownCpu]] = medians;
  console.log(`${DELTAS} deltas of an agent of ACP`);
  for (const [name, wall, cpu] of medians) {
    const ratios = `${(wall / ownWall).toFixed(2)}, of CPU time ${(cpu / ownCpu).toFixed(2)}`;
    console.log(`  ${name}: ${Math.round(wall)} deltas/s, ratio ${ratios}`);
  }
}

/** Megabytes of a process that it shares with no other. */
async function ownMegabytes(pid) {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const sizes = [...rollup.matchAll(/^Private_\w+: +(\d+) kB$/gm)].map(([, kilobytes]) => Number(kilobytes));
  return sizes.reduce((sum, kilobytes) => sum + kilobytes, 0) / 1024;
}

async function keptAgents() {
  const records = join(directory, 'processes');
  const texts = await Promise.all(
    (await readdir(records)).map((name) => readFile(join(records, name), 'utf8')),
  );
  return texts.map((text) => JSON.parse(text).agent.pid);
}

async function answer(handler, sessionId) {
  const context = await contextOf({ sessionId });
  for await (const { type } of handler.handle(await queryOf('DO say Hello'), context))
    if (type === 'error') throw new Error(type);
}

async function measureKept() {
  const kept = { keepMs: 600_000, processes: KEPT + 1 };
  const handler = fromAcp({ command: process.execPath, args: [SCRIPTED], directory, ...kept });
  // What the first one loads is not of each.
  await answer(handler, 'first');
  const before = await ownMegabytes(process.pid);
  for (let index = 0; index < KEPT; index += 1) await answer(handler, `session ${index}`);
  const here = ((await ownMegabytes(process.pid)) - before) / KEPT;
  const agents = await Promise.all((await keptAgents()).map(ownMegabytes));
  await handler.onApplicationShutdown();
  console.log(
    `A process that is kept: ${here.toFixed(2)} MB here, ${median(agents).toFixed(0)} MB in the agent (Node)`,
  );
}

try {
  await compare({ 'lines, split and parsed': readLines, fromAcp: readAdapter });
  await measureKept();
} finally {
  await rm(directory, { recursive: true });
}
