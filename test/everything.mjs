/**
 * Executes every program of the tests in its long form, one after another, and prints how long each takes. `.ci/run` has what
 * a change can break at once; this has the rest too.
 *
 *     npm run everything                    # all of them
 *     npm run everything -- chaos hosts     # those
 *     SEED=123 npm run everything -- tests  # properties with the seed of another run
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import process from 'node:process';

const SEED = process.env.SEED ?? String(randomInt(2 ** 31));

/** All stores and all cases of properties, the other adapter of each suite, and modules of its own for each suite. */
const LONG = { TESTS: 'all', ADAPTER: 'other', ISOLATED: '1', SEED };

/** The arguments of npm, and variables. */
const PROGRAMS = {
  lint: [['run', 'lint']],
  tests: [['test'], LONG],
  adapters: [['run', 'adapters'], LONG],
  browser: [['run', 'browser'], LONG],
  chaos: [['run', 'chaos'], LONG],
  matrix: [['run', 'matrix']],
  hosts: [['run', 'hosts']],
  proxies: [['run', 'proxies', '--', '--check']],
  clients: [['run', 'clients', '--', '--check']],
  'real-agents': [['run', 'real-agents', '--', '--check']],
  corpus: [['run', 'corpus', '--', '--check']],
  'front-ends': [['run', 'front-ends']],
  release: [['run', 'release', '--', '--dry-run']],
};

const named = process.argv.slice(2);
const unknown = named.filter((name) => !(name in PROGRAMS));
if (unknown.length > 0)
  throw new Error(`There is no ${unknown.join(', ')}. There are: ${Object.keys(PROGRAMS).join(', ')}.`);

console.log(`The seed of all properties: ${SEED}. SEED=${SEED} repeats them.`);
const rows = [];
for (const name of named.length > 0 ? named : Object.keys(PROGRAMS)) {
  const [parameters, variables] = PROGRAMS[name];
  const began = performance.now();
  const { status } = spawnSync('npm', parameters, {
    env: { ...process.env, ...variables },
    stdio: 'inherit',
  });
  const end = status === 0 ? 'passed' : 'failed';
  rows.push(`${name}: ${end} after ${((performance.now() - began) / 1000).toFixed(0)} s`);
  console.log(rows.at(-1));
  if (status !== 0) process.exitCode = 1;
}
console.log(rows.join('\n'));
