/**
 * What the agent `remote` costs: envelopes per second of a run, through a service with `AGENT=remote` and read directly from the
 * service behind it. Prints both and their ratio, medians of several rounds in turn.
 *
 * npm run build && node test/bench/agents/remote.mjs [--envelopes 50000] [--rounds 5]
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { envelopes: { type: 'string', default: '50000' }, rounds: { type: 'string', default: '5' } },
});
const ENVELOPES = Number(values.envelopes);
const MAIN = resolve(import.meta.dirname, '../../../dist/main.js');
const AGENT = `export default async function* ({ kwargs }) {
  for (let n = 0; n < kwargs.envelopes; n += 1) yield { type: 'message', data: { content: 'token ' + n } };
}`;

const directory = await mkdtemp(join(tmpdir(), 'bench-remote-'));
await writeFile(join(directory, 'agent.mjs'), AGENT);
const services = [];

function start(environment) {
  const env = {
    PATH: process.env.PATH,
    PORT: '0',
    DATABASE_URL: 'memory:',
    LOG_FORMAT: 'text',
    ...environment,
  };
  const child = spawn(process.execPath, [MAIN], {
    cwd: directory,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  services.push(child);
  return new Promise((listening) => {
    child.stdout.on('data', (text) => {
      const [, url] = /listens on (http:\S+)/.exec(text) ?? [];
      if (url) listening(url);
    });
  });
}

async function rateOf(url) {
  const begin = performance.now();
  const body = JSON.stringify({ parts: [{ type: 'text', text: 'x' }], kwargs: { envelopes: ENVELOPES } });
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };
  const response = await fetch(`${url}/query`, { method: 'POST', headers, body });
  let end = '';
  for await (const chunk of response.body) end = (end + Buffer.from(chunk).toString('latin1')).slice(-200);
  if (!end.includes(`.${ENVELOPES + 1}\n`) || !end.includes('"completed"'))
    throw new Error(`Not complete: ${end}`);
  return (1_000 * ENVELOPES) / (performance.now() - begin);
}

const median = (rates) => rates.toSorted((a, b) => a - b)[Math.floor(rates.length / 2)];

try {
  const inner = await start({ AGENT: './agent.mjs' });
  const outer = await start({ AGENT: 'remote', REMOTE_URL: inner });
  const rates = { direct: [], remote: [] };
  // The first round warms up.
  for (let round = 0; round <= Number(values.rounds); round += 1) {
    const direct = await rateOf(inner);
    const remote = await rateOf(outer);
    if (round === 0) continue;
    rates.direct.push(direct);
    rates.remote.push(remote);
  }
  const [direct, remote] = [median(rates.direct), median(rates.remote)];
  console.log(
    `direct ${Math.round(direct)}/s, through remote ${Math.round(remote)}/s, ratio ${(remote / direct).toFixed(2)}`,
  );
} finally {
  for (const service of services) service.kill();
  await rm(directory, { recursive: true });
}
