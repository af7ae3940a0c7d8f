/**
 * What adapters of frameworks cost: text deltas per second that a caller of `AgentService` gets, compared with reading the same
 * framework directly with the same model, in turn in one process. Prints medians and their ratio.
 *
 * npm run adapters && node test/bench/agents/adapters.mjs [--deltas 20000] [--rounds 7] [--only langgraph]
 */
import { parseArgs } from 'node:util';
import { NestFactory } from '@nestjs/core';
import { AgentService, QueryModule } from '../../../dist/index.js';

const { values } = parseArgs({
  options: {
    deltas: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '7' },
    only: { type: 'string' },
  },
});
const DELTAS = Number(values.deltas);
const ROUNDS = Number(values.rounds);

const FRAMEWORKS = ['langgraph', 'mastra', 'openai-agents'];
for (const name of values.only === undefined ? FRAMEWORKS : [values.only]) {
  // The frameworks are installed beside the packages of their adapters.
  const { create } = await import(`../../../packages/${name}/test/bench.mjs`);
  await measure(name, create(DELTAS));
}

async function measure(name, { direct, handler }) {
  const module = QueryModule.forRoot({ handler, runs: { timeoutMs: 600_000 } });
  const app = await NestFactory.createApplicationContext(module, { logger: false });
  const agent = app.get(AgentService);
  const rates = { direct: [], service: [] };
  // The first round of each is not counted: it compiles.
  for (let round = 0; round <= ROUNDS; round++) {
    const measured = {
      direct: await rateOf(() => direct('Go')),
      service: await rateOf(() => readService(agent)),
    };
    if (round > 0) for (const [way, rate] of Object.entries(measured)) rates[way].push(rate);
  }
  await app.close();
  const [framework, service] = [median(rates.direct), median(rates.service)];
  const ratio = (service / framework).toFixed(2);
  console.log(
    `${name}: direct ${framework} deltas/s, through AgentService ${service} deltas/s, ratio ${ratio}`,
  );
}

async function rateOf(read) {
  const began = performance.now();
  const count = await read();
  if (count !== DELTAS) throw new Error(`${count} of ${DELTAS} deltas have arrived`);
  return Math.round((DELTAS / (performance.now() - began)) * 1_000);
}

function readService(agent) {
  return new Promise((resolve, reject) => {
    let count = 0;
    agent.query({ parts: [{ type: 'text', text: 'Go' }], kwargs: {} }).subscribe({
      next: ({ type }) => (count += type === 'message' ? 1 : 0),
      error: reject,
      complete: () => resolve(count),
    });
  });
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
