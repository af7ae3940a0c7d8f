/**
 * Executes random schedules of all calls of the interface, with faults in between, and compares what happens with a model of
 * the interface:
 *
 *     node test/chaos/schedules.mjs [--store memory|slow|sqlite|postgres] [--seed 1] [--schedules 100] [--seconds 60]
 *
 * Without `--store`, each store has its turn. `--commands` is the most commands of a schedule. `--no-kills` leaves out the
 * kill of the process, which costs some seconds. At the end of each schedule all handlers finish; then every run must have one
 * end, and nothing may be left. After a failure the program prints the seed, the path and the shortest schedule that fails.
 * `--path` and `--replay-path` execute that schedule again. The exit code is 1 if a check fails.
 */
import { register } from 'node:module';
import { parseArgs } from 'node:util';

register('../support/typescript-hooks.mjs', import.meta.url);
const { HostProcess, Schedules } = await import('./schedules/main.ts');
const { STORES } = await import('./schedules/settings.ts');

const { values } = parseArgs({
  options: {
    store: { type: 'string' },
    seed: { type: 'string', default: `${Date.now() % 2 ** 31}` },
    schedules: { type: 'string', default: '100' },
    seconds: { type: 'string', default: 'Infinity' },
    commands: { type: 'string', default: '40' },
    kills: { type: 'boolean', default: true },
    path: { type: 'string' },
    'replay-path': { type: 'string' },
  },
  allowNegative: true,
});

const stores = values.store === undefined ? STORES : [values.store];
const hosts = new HostProcess();
try {
  for (const store of stores) await execute(store);
} finally {
  await hosts.end();
}

async function execute(store) {
  const plan = {
    store,
    seed: Number(values.seed),
    schedules: Number(values.schedules),
    seconds: Number(values.seconds),
    commands: Number(values.commands),
    hasKills: values.kills,
    path: values.path,
    replayPath: values['replay-path'],
  };
  const schedules = new Schedules(plan, hosts);
  const began = performance.now();
  const failure = await schedules.execute();
  const seconds = Number(((performance.now() - began) / 1000).toFixed(1));
  console.log(JSON.stringify({ store, seed: plan.seed, seconds, ...schedules.figures }));
  if (failure === undefined) return;
  console.error(`${store}: ${failure}`);
  process.exitCode = 1;
}
