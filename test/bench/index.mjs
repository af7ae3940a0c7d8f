/**
 * Measures this service against its peers and writes `RESULTS.md` and `growth.svg`.
 *
 *   npm run bench                                the default form, half an hour
 *   npm run bench -- --rounds 7 --scale 3        more rounds, and each three times as long
 *   npm run bench -- --only burst,queries        some measures (see measures.mjs); prints, and writes nothing
 *   npm run bench -- --only latency              what callers wait for; prints, and writes nothing
 *   npm run bench -- --only protocols            the streams of other protocols; prints, and writes nothing
 *   npm run bench -- --only agents               what each kind of agent costs; prints, and writes nothing
 *   npm run bench -- --only usage                what it costs to add up usage; prints, and writes nothing
 *   npm run bench -- --peers raw,nest,ours       some peers; prints, and writes nothing
 *   npm run bench -- --only growth --chart FILE  how the cost grows; prints, and writes its chart to the file
 */
import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { withPackages } from '../matrix/commands.mjs';
import { measureAgents } from './agents/index.mjs';
import { growthChart } from './chart.mjs';
import { syncMs } from './databases.mjs';
import { MEASURES } from './measures.mjs';
import { PEERS } from './peers/index.mjs';
import { startLoad, startServer } from './process.mjs';
import { linesOf } from './programs.mjs';
import { report, table } from './report.mjs';

/** What has no peers: it is measured by programs of its own, which print lines. */
const PROGRAMS = {
  agents: measureAgents,
  usage: () => linesOf(`${import.meta.dirname}/usage.mjs`),
};

const { values } = parseArgs({
  options: {
    chart: { type: 'string' },
    only: { type: 'string', default: [...Object.keys(MEASURES), ...Object.keys(PROGRAMS)].join() },
    peers: { type: 'string', default: Object.keys(PEERS).join() },
    rounds: { type: 'string', default: '3' },
    scale: { type: 'string', default: '1' },
  },
});
const scale = Number(values.scale);
const loadBefore = loadavg()[0];
const began = Date.now();
await withPackages(import.meta.dirname);
const load = startLoad();
const kept = new Map();

async function measure({ run, isFresh, isOnAnyCore, startsItself }, peer, round) {
  if (startsItself) return run({ peer, load, scale, round });
  const start = () => startServer(peer, isOnAnyCore ? undefined : 0);
  const server = isFresh ? await start() : (kept.get(peer) ?? (await start()));
  if (!isFresh) kept.set(peer, server);
  try {
    return await run({ peer, server, load, scale, round });
  } finally {
    if (isFresh) await server.stop();
  }
}

/** The median of each figure over the rounds. */
function medians(figures) {
  const middle = (name) => figures.map((one) => one[name]).sort((a, b) => a - b)[figures.length >> 1];
  return Object.fromEntries(Object.keys(figures[0]).map((name) => [name, middle(name)]));
}

const results = {};
const chosen = values.peers.split(',');
const only = values.only.split(',');
for (const id of only.filter((id) => !PROGRAMS[id])) {
  const one = MEASURES[id];
  const peers = one.peers.filter((peer) => chosen.includes(peer));
  const figures = Object.fromEntries(peers.map((peer) => [peer, []]));
  for (let round = 0; round < (one.rounds ?? Number(values.rounds)); round++) {
    for (const peer of peers.filter((peer) => round === 0 || !PEERS[peer].isContext)) {
      figures[peer].push(await measure(one, peer, round));
    }
  }
  results[id] = Object.fromEntries(peers.map((peer) => [peer, medians(figures[peer])]));
  console.log(`\n${table(id, results[id])}`);
  if (id === 'latency') console.log(`\nA sync of the disk takes ${(await syncMs()).toFixed(2)} ms.`);
}
for (const server of kept.values()) await server.stop();
await load.stop();
const lines = {};
for (const id of only.filter((id) => PROGRAMS[id])) {
  lines[id] = await PROGRAMS[id]();
  console.log(`\n${lines[id]}`);
}

const isWhole =
  Object.keys(PROGRAMS).every((id) => lines[id]) &&
  Object.keys(MEASURES).every((id) => results[id]) &&
  chosen.length === Object.keys(PEERS).length;
if (isWhole) {
  const seconds = Math.round((Date.now() - began) / 1000);
  const diskMs = await syncMs();
  const text = report(results, { rounds: values.rounds, scale, seconds, loadBefore, diskMs, lines });
  console.log(`\n${text}`);
  writeFileSync(`${import.meta.dirname}/RESULTS.md`, text);
}
const chart = values.chart ?? (isWhole ? `${import.meta.dirname}/growth.svg` : undefined);
if (chart && results.growth) writeFileSync(chart, growthChart(results.growth));
