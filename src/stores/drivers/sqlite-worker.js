/**
 * The thread that executes the statements of a SQLite file. It is a thread because libsql answers synchronously, and a
 * commit waits for the disk.
 *
 * A message to the thread is a list of statements, each `[sql, parameters]`. The message from it has an `[answer, error]` for
 * each of them. As in Postgres, a transaction in which a statement has failed takes nothing but its rollback: what was sent
 * together with that statement must not be committed. The file is JavaScript, so that Node can start it from the sources too.
 */
import { statSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'libsql';

/** The most statements that stay prepared. The store has fewer, apart from the many forms of multi-row inserts. */
const PREPARED = 100;

const database = new Database(workerData);
/** The file that is open. Its path may name another file later, or none. */
const opened = identity();
/** @type {Map<string, { statement: import('libsql').Statement, isReader: boolean }>} */
const statements = new Map();

let isInTransaction = false;
let isReplaced = false;
/** The error of the transaction. */
let failure;

/** Which file the path names now. */
function identity() {
  const { dev, ino } = statSync(workerData, { bigint: true, throwIfNoEntry: false }) ?? {};
  return `${dev} ${ino}`;
}

/** @param {string} sql */
function prepared(sql) {
  const found = statements.get(sql);
  if (found) return found;
  const statement = database.prepare(sql);
  const added = { statement, isReader: statement.reader };
  if (statements.size >= PREPARED) statements.delete(statements.keys().next().value);
  statements.set(sql, added);
  return added;
}

/** @param {string} sql */
function execute(sql, parameters) {
  if (sql === 'begin immediate') isInTransaction = true;
  if (sql === 'rollback') {
    isInTransaction = false;
    failure = undefined;
  }
  if (failure) throw failure;
  if (isReplaced && sql !== 'rollback') {
    throw Object.assign(new Error('The file was deleted or replaced.'), { code: 'SQLITE_REPLACED' });
  }
  const { statement, isReader } = prepared(sql);
  const answer = isReader
    ? { rows: statement.all(parameters) }
    : { changes: statement.run(parameters).changes };
  if (sql === 'commit') isInTransaction = false;
  return answer;
}

parentPort.on('message', (batch) => {
  isReplaced = identity() !== opened;
  const answers = batch.map(([sql, parameters]) => {
    try {
      return [execute(sql, parameters)];
    } catch (error) {
      if (isInTransaction) failure = error;
      return [undefined, { message: error.message, code: error.code }];
    }
  });
  parentPort.postMessage(answers);
});
