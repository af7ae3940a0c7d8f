import { readdir, readFile } from 'node:fs/promises';
import process from 'node:process';

const MEBIBYTE = 1024 * 1024;

/** A variable by which processes of one agent, and of all that it has started, are found. */
export const MARK = 'REAL_AGENTS_MARK';

/**
 * The processes that have the mark in their environment: `{ pid, command, bytes }`, where bytes are the memory of a process with its
 * part of what it shares.
 */
export async function markedProcesses(mark) {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(pids.map((pid) => marked(pid, mark)));
  return found.filter(Boolean);
}

/** How many MB these processes take together. */
export const memoryOf = (processes) => processes.reduce((sum, { bytes }) => sum + bytes, 0) / MEBIBYTE;

/** Ends what a service has left that failed to do it. */
export async function endProcesses(mark) {
  for (const { pid } of await markedProcesses(mark)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if (error.code !== 'ESRCH') throw error;
    }
  }
}

/** A process that ends meanwhile is none. */
async function marked(pid, mark) {
  try {
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8');
    if (!environment.split('\0').includes(`${MARK}=${mark}`)) return undefined;
    const command = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ');
    const memory = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
    const [, kilobytes] = /^Pss:\s+(\d+)/m.exec(memory) ?? [];
    return kilobytes === undefined
      ? undefined
      : { pid: Number(pid), command, bytes: Number(kilobytes) * 1024 };
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES'].includes(error.code)) return undefined;
    throw error;
  }
}
