/**
 * Fills the disk of the service's log again and again while callers send queries, and checks that no run notices:
 *
 *     npm run build && node test/chaos/full-log.mjs [--rounds 20] [--at-once 8]
 *
 * A limit of the system for the size of a file (`ulimit -f`) stands for the disk. The log is emptied at random moments, which is
 * the space that an operator makes. Every query must be answered completely, all the time. After each time without space, the
 * log must tell how many entries are lost. The service must end with the exit code 0. The exit code is 1 if a check fails.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '20' }, 'at-once': { type: 'string', default: '8' } },
});
/** The size of the disk, in the blocks of `ulimit -f`, and in bytes. */
const BLOCKS = 32;
const BYTES = BLOCKS * 1024;
const BOUND_MS = 10_000;

const failures = [];
const check = (condition, what) => {
  if (!condition) failures.push(what);
};

const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-full-log-'));
const log = join(directory, 'log');
const output = openSync(log, 'a');
const main = join(import.meta.dirname, '../../dist/main.js');
const service = spawn('bash', ['-c', `ulimit -f ${BLOCKS}; exec ${process.execPath} ${main}`], {
  cwd: directory,
  env: {
    PATH: process.env.PATH,
    PORT: '0',
    DATABASE_URL: 'memory:',
    LOG_LEVEL: 'debug',
    LOG_FORMAT: 'json',
    AGENT: 'echo',
  },
  stdio: ['ignore', output, output],
});
closeSync(output);
let url;

/** Resolves when a condition holds. */
async function until(condition, what) {
  for (const end = Date.now() + BOUND_MS; !(await condition()); await delay(20)) {
    if (Date.now() > end || service.exitCode !== null) return check(false, what);
  }
}

let asked = 0;
let isOver = false;
async function askAgain() {
  while (!isOver) {
    const text = `Query ${++asked}`;
    const answer = await fetch(`${url}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ parts: [{ type: 'text', text }] }),
      signal: AbortSignal.timeout(BOUND_MS),
    }).then(
      (response) => response.text(),
      (error) => `${error.message}`,
    );
    check(
      answer.includes(text) && answer.includes('"completed"'),
      `${text} is answered ${answer.slice(-200)}`,
    );
    if (failures.length > 100) return;
  }
}

try {
  const listens = async () => (url = /http:\/\/127\.0\.0\.1:\d+/.exec(await readFile(log, 'utf8'))?.[0]);
  await until(listens, 'the service does not start');
  const asking = Array.from({ length: Number(values['at-once']) }, askAgain);
  for (let round = 1; round <= Number(values.rounds); round++) {
    await until(async () => (await stat(log)).size >= BYTES, `round ${round}: the disk does not fill`);
    await delay(Math.random() * 200);
    await truncate(log);
    const tells = async () => (await readFile(log, 'utf8')).includes('entries of the log are lost');
    await until(tells, `round ${round}: the log does not tell that entries are lost`);
  }
  isOver = true;
  await Promise.all(asking);
  service.kill('SIGTERM');
  const [code] = service.exitCode === null ? await once(service, 'exit') : [service.exitCode];
  check(code === 0, `the service ended with ${code}`);
} finally {
  service.kill('SIGKILL');
  await rm(directory, { recursive: true });
}
for (const failure of failures.slice(0, 20)) console.error(failure);
console.log(`${asked} queries`);
console.log(failures.length === 0 ? 'all queries were answered' : `${failures.length} failures`);
process.exitCode = failures.length === 0 ? 0 : 1;
