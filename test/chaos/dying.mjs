/**
 * Lets a process die with SIGKILL at a statement of its store: `node --import ./dying.mjs program.mjs`. Node executes this in each
 * thread too. While the file `DYING` names a statement, `<number> before|after`, the statements are counted. The file
 * `<DYING>.struck` is there when it was struck. Failed webhooks are tried again at once.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { isMainThread } from 'node:worker_threads';

const { DYING } = process.env;
let count = 0;

/** The moment of the next statement at which the process dies; undefined if it does not. */
function moment() {
  let plan;
  try {
    plan = readFileSync(DYING, 'utf8');
  } catch {
    return undefined;
  }
  const [number, when] = plan.split(' ');
  return ++count === Number(number) ? when : undefined;
}

function die() {
  writeFileSync(`${DYING}.struck`, '');
  process.kill(process.pid, 'SIGKILL');
  // Nothing else happens in this thread.
  for (;;);
}

if (isMainThread) {
  const { default: pg } = await import('pg');
  const { SqlDeliveryStore } = await import('../../dist/internals.js');
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (...of) {
    const when = moment();
    if (when === 'before') die();
    const answer = query.apply(this, of);
    if (when === 'after') answer.then(die);
    return answer;
  };
  const { settle } = SqlDeliveryStore.prototype;
  SqlDeliveryStore.prototype.settle = function (taken, result) {
    return settle.call(this, taken, { ...result, afterMs: 0 });
  };
} else {
  const { default: Database } = await import('libsql');
  const statement = Object.getPrototypeOf(new Database(':memory:').prepare('select 1'));
  for (const name of ['run', 'all']) {
    const execute = statement[name];
    statement[name] = function (...of) {
      const when = moment();
      if (when === 'before') die();
      const answer = execute.apply(this, of);
      if (when === 'after') die();
      return answer;
    };
  }
}
