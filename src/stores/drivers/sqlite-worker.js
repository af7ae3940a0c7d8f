/**
 * The thread that executes the statements of a SQLite file. It is a thread because libsql answers synchronously, and a
 * commit waits for the disk.
 *
 * A message to the thread is `[id, sql, parameters]`, a message from it `[id, answer, error]`. The file is JavaScript, so
 * that Node can start it from the sources too.
 */
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'libsql';

/** The most statements that stay prepared. The store has fewer, apart from the many forms of multi-row inserts. */
const PREPARED = 100;

const database = new Database(workerData);
/** @type {Map<string, import('libsql').Statement>} */
const statements = new Map();

/** @param {string} sql */
function prepared(sql) {
  const found = statements.get(sql);
  if (found) return found;
  const statement = database.prepare(sql);
  if (statements.size >= PREPARED) statements.delete(statements.keys().next().value);
  statements.set(sql, statement);
  return statement;
}

parentPort.on('message', ([id, sql, parameters]) => {
  try {
    const statement = prepared(sql);
    const answer = statement.reader
      ? { rows: statement.all(parameters) }
      : { changes: statement.run(parameters).changes };
    parentPort.postMessage([id, answer]);
  } catch (error) {
    parentPort.postMessage([id, undefined, { message: error.message, code: error.code }]);
  }
});
