import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync, statSync } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

const PREFIX = 'nest-agent-query';
/** The namespace that a machine begins with: `PROC_PID_INIT_INO` of Linux. */
const FIRST_NAMESPACE = 'pid:[4026531836]';

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * The path of a directory for temporary files of this process. Its name states the machine, the process id and the start
 * time of the process, so that a later process can tell that this one is dead. On a volume, containers are machines of their
 * own. It is not made here.
 *
 * @param parent which exists. Default: the system's directory for temporary files
 *
 * @example
 * const directory = newProcessDirectory();
 * await mkdir(directory, { mode: 0o700 });
 */
export function newProcessDirectory(parent: string = tmpdir()): string {
  const name = [
    PREFIX,
    machineFor(parent),
    process.pid,
    startOf(process.pid),
    randomBytes(6).toString('hex'),
  ];
  return join(parent, name.join('-'));
}

/**
 * Removes the directories that processes left in `parent` when they crashed, or when the machine did.
 *
 * A directory is removed if this user owns it and its process is dead, which is also the case if the process that has its
 * id now started at another time. The directory of another machine, or of another container, on a shared volume is removed
 * once it has not changed for a day.
 *
 * @throws the system's error if `parent` cannot be read
 *
 * @example
 * await removeAbandonedDirectories(); // before the first newProcessDirectory()
 */
export async function removeAbandonedDirectories(parent: string = tmpdir()): Promise<void> {
  const names = await readdir(parent);
  const machine = machineFor(parent);
  await Promise.all(
    names.map(async (name) => {
      const path = join(parent, name);
      if (await isAbandoned(name, path, machine)) await rm(path, { recursive: true, force: true });
    }),
  );
}

async function isAbandoned(name: string, path: string, machine: string): Promise<boolean> {
  const [, machineName, pid, start] =
    new RegExp(`^${PREFIX}-([0-9a-f]{8})-(\\d+)-(\\d+)-[0-9a-f]{12}$`).exec(name) ?? [];
  if (machineName === undefined || pid === undefined) return false;
  const found = await lstat(path).catch(ignoreMissing);
  if (!found?.isDirectory() || (process.getuid && found.uid !== process.getuid())) return false;
  if (machineName !== machine) return Date.now() - found.mtimeMs > DAY_MS;
  return !isAlive(Number(pid)) || startOf(Number(pid)) !== start;
}

/** Eight hexadecimal digits that stand for the machine whose processes can be seen here, as far as the directory may be shared. */
function machineFor(directory: string): string {
  const names = [hostname(), ...(isOfThisMachineOnly(directory) ? [] : processNamespace())];
  return createHash('sha256').update(names.join(' ')).digest('hex').slice(0, 8);
}

/** Whether a directory is where the root directory is: no container shares that with another one. */
function isOfThisMachineOnly(directory: string): boolean {
  return statSync(directory).dev === statSync('/').dev;
}

/**
 * Names the processes that a container can see (pid_namespaces(7)): containers may have the same host name, and see no processes of
 * one another. Empty outside of containers, and on systems without `/proc`.
 */
function processNamespace(): string[] {
  try {
    const namespace = readlinkSync('/proc/self/ns/pid');
    // Two machines may have the same numbers.
    return namespace === FIRST_NAMESPACE
      ? []
      : [readFileSync('/proc/sys/kernel/random/boot_id', 'latin1'), namespace];
  } catch {
    return [];
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/**
 * The start time of a process in clock ticks since boot (proc(5)): systems reuse process ids, but never an id and a start
 * time together. `0` on systems without `/proc`, and for a process that is gone.
 */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The second field is the program's name, which may contain anything; the start time is the 20th field after it.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '0';
  } catch {
    return '0';
  }
}

export function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
