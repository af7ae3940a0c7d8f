/**
 * The suites that take long, and the short form of each program of this folder: what `npm run chaos` executes, on what
 * `npm run build` has built.
 *
 *     npm run chaos                  # all of them, one after the other
 *     npm run chaos -- kill disks    # those whose names begin so
 *
 * A program fails when it ends with another code than 0, writes an error, or does not end with the sentence that it ends with.
 */
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';

const isLinux = process.platform === 'linux';
/** `TESTS=all`, as in `npm run everything`: more cases of what takes longest. */
const isLong = process.env.TESTS === 'all';
const hasCompiler = spawnSync('cc', ['--version']).status === 0;

/** The name, the arguments, the last line, and why it cannot be executed here, if it cannot. */
const PROGRAMS = [
  ['suites', 'suites.mjs --testPathPatterns ^(?!.*/real-proxies-doctor)', 'all suites have passed'],
  ['doctor', 'suites.mjs --testPathPatterns /real-proxies-doctor', 'all suites have passed'],
  ['kill', 'kill.mjs --rounds 2 --runs 40', 'nothing was lost'],
  ['kill-postgres', 'kill.mjs --rounds 2 --runs 40 --postgres', 'nothing was lost'],
  ['kill-processes', 'kill.mjs --rounds 2 --runs 40 --processes 2', 'nothing was lost'],
  [
    'cluster',
    'cluster.mjs --processes 2 --rounds 2 --lease 4000 --faults silence,deadPool',
    'nothing was lost',
  ],
  ['sweeps', 'sweeps.mjs --rounds 6', 'no more was dropped than exceeds the limits'],
  ['damaged-rows', 'damaged-rows.mjs --rounds 3', 'the others went on'],
  ['damaged-rows-postgres', 'damaged-rows.mjs --rounds 3 --postgres', 'the others went on'],
  ['usage', 'usage.mjs --file --runs 1000 --kills 4', 'all sums are exact'],
  ['webhooks', `webhooks.mjs --store file --every ${isLong ? 90 : 200}`, 'nothing was lost'],
  ['asking', 'asking.mjs --faults 12 --kills 2 --answers 20', 'nothing was lost'],
  ['full-log', 'full-log.mjs --rounds 5', 'all queries were answered', !isLinux && 'it needs ulimit'],
  ['databases', 'databases.mjs --seconds 5 --lanes 1', 'nothing was lost'],
  [
    'disks',
    'disks.mjs --seconds 5 --lanes 1',
    'nothing was lost',
    (!isLinux && 'it needs Linux') || (!hasCompiler && 'it needs a C compiler (cc)'),
  ],
  // The first two schedules of this seed have all commands but kills, and both faults of a database.
  ['schedules', `schedules.mjs --seed 12 --schedules ${isLong ? 4 : 2} --no-kills`, /^\{"store":"postgres",/],
  ...['memory 1000', 'file 200', 'postgres 200'].map((sizes) => {
    const [store, queries] = sizes.split(' ');
    const options = `soak.mjs --store ${store} --queries ${queries} --rounds 2`;
    return [`soak-${store}`, options, 'nothing has grown', !isLinux && 'it reads /proc'];
  }),
  ...['fastify', 'express'].map((adapter) => [
    `clients-${adapter}`,
    `clients.mjs --adapter ${adapter} --clients 40 --every 50`,
    'all clients were answered or refused',
    !isLinux && 'it reads /proc',
  ]),
];

async function execute([name, options, end, reason]) {
  if (reason) {
    console.log(`${name}: skipped, because ${reason}`);
    return 'skipped';
  }
  const [file, ...parameters] = options.split(' ');
  const begun = performance.now();
  const child = spawn(process.execPath, [join(import.meta.dirname, file), ...parameters], { stdio: 'pipe' });
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (errors += text));
  const code = await new Promise((resolve) => child.once('close', resolve));
  const last = output.trimEnd().split('\n').at(-1);
  const isEnd = typeof end === 'string' ? last === end : end.test(last);
  const seconds = ((performance.now() - begun) / 1000).toFixed(0);
  if (code === 0 && errors === '' && isEnd) {
    console.log(`${name}: ${last.slice(0, 100)} (${seconds} s)`);
    return 'passed';
  }
  console.error(`${name} failed after ${seconds} s, with the code ${code}: node test/chaos/${options}`);
  console.error(output + errors);
  return 'failed';
}

const wanted = process.argv.slice(2);
const chosen = PROGRAMS.filter(
  ([name]) => wanted.length === 0 || wanted.some((each) => name.startsWith(each)),
);
const results = [];
for (const program of chosen) results.push(await execute(program));
const count = (result) => results.filter((each) => each === result).length;
console.log(`chaos: ${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`);
if (count('failed') > 0 || chosen.length === 0) process.exitCode = 1;
