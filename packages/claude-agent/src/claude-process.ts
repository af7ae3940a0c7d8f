import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { settlesWithin } from 'nest-agent-query/agents';

/** Milliseconds that the program has to end after SIGTERM. */
const TERM_MS = 1_000;

/** What the SDK asks for. */
export interface SpawnRequest {
  command: string;
  args: string[];
  cwd?: string;
  env: Record<string, string | undefined>;
}

/** The program `claude` of one query, and what it has started. */
export class ClaudeProcess {
  readonly #exited: Promise<unknown>;
  readonly #noted: Promise<void>;

  /** @param folder where it is noted, so that the next start of the service ends it if this one is killed */
  constructor(
    readonly child: ChildProcess,
    private readonly folder: string,
  ) {
    this.#exited = once(child, 'exit').catch(() => undefined);
    // A program that cannot be noted is ended all the same, unless the service is killed.
    this.#noted = this.#note().catch(() => undefined);
  }

  static start({ command, args, cwd, env }: SpawnRequest, folder: string): ClaudeProcess {
    // `detached` gives it a group of its own.
    return new ClaudeProcess(spawn(command, args, { cwd, env, detached: true, stdio: 'pipe' }), folder);
  }

  /** Ends the program and its group. Resolves when the program is gone. */
  async stop(): Promise<void> {
    const { pid, exitCode, signalCode } = this.child;
    if (pid === undefined) return;
    if (exitCode === null && signalCode === null) {
      signalGroup(pid, 'SIGTERM');
      await settlesWithin(TERM_MS, this.#exited);
    }
    signalGroup(pid, 'SIGKILL');
    await Promise.all([this.#exited, this.#noted]);
    await rm(join(this.folder, String(pid)), { force: true });
  }

  async #note(): Promise<void> {
    const { pid } = this.child;
    if (pid === undefined) return;
    const note = {
      start: await startOf(pid),
      service: process.pid,
      serviceStart: await startOf(process.pid),
    };
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    await writeFile(join(this.folder, String(pid)), JSON.stringify(note), { mode: 0o600 });
  }
}

/**
 * Ends the programs of a service that was killed: it lives on for up to a minute, and would ask the model once more. Only on
 * Linux.
 */
export async function endLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const text = await readFile(join(folder, name), 'utf8').catch(() => '');
    const note = noteOf(text);
    // The id of a process stands for another one after its end: the time of its start says which.
    if (note && (await startOf(note.service)) === note.serviceStart) continue;
    if (note?.start && (await startOf(Number(name))) === note.start) signalGroup(Number(name), 'SIGKILL');
    await rm(join(folder, name), { force: true });
  }
}

interface Note {
  start: string;
  service: number;
  serviceStart: string;
}

function noteOf(text: string): Note | undefined {
  try {
    return JSON.parse(text) as Note;
  } catch {
    return undefined;
  }
}

/** When a process has started, in ticks since the start of the system; empty if there is none. */
async function startOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  // proc(5): the name of the program, the second field, may contain anything. The start is the 22nd.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

function signalGroup(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(-pid, name);
  } catch {
    // There is no such group any more.
  }
}
