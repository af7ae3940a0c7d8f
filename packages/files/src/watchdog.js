/**
 * A thread that watches the process in which it runs, also while a parser blocks the main thread. It ends the process with
 * SIGKILL when its resident memory exceeds the limit, and when the process that started it is gone. The file is JavaScript, so
 * that Node can start it from the sources too.
 */
import { rmSync, writeSync } from 'node:fs';
import process from 'node:process';
import { workerData } from 'node:worker_threads';

/** Milliseconds between two checks. A parser can take about 50 MB in this time. */
const INTERVAL = 20;

/** @type {{ maxResident: number, parent: number, directory: string, outOfMemory: string }} */
const { maxResident, parent, directory, outOfMemory } = workerData;

setInterval(() => {
  if (process.memoryUsage.rss() > maxResident) {
    writeSync(2, outOfMemory);
    process.kill(process.pid, 'SIGKILL');
  }
  if (!isParentAlive()) {
    // Nobody else removes it then.
    rmSync(directory, { recursive: true, force: true });
    process.kill(process.pid, 'SIGKILL');
  }
}, INTERVAL);

/** An orphan gets another parent, except on Windows. */
function isParentAlive() {
  if (process.ppid !== parent) return false;
  try {
    return process.kill(parent, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}
