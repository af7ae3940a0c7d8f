import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { ProcessGroup } from 'nest-agent-query/agents/command';
import { endProcesses } from './end-processes.js';
import { endStrays } from './strays.js';
import { processSpace, startOf } from './system.js';

/** Milliseconds in which an agent may write down what it has, after its service was killed. */
const TERM_MS = 1_000;

interface Started {
  pid: number;
  /** See `startOf`. */
  start: string | undefined;
}

/** What a record says about a living agent. */
interface Content {
  space: string | undefined;
  service: Started;
  marker: string;
  /** Absent until it has started. */
  agent?: Started;
}

/**
 * A file that says which agent is to be ended if this process is killed.
 *
 * @example
 * const record = await ProcessRecord.of(directory, marker);
 * await record.started(child.pid!);
 * // when it is gone:
 * await record.remove();
 */
export class ProcessRecord {
  private constructor(
    private readonly path: string,
    private readonly content: Content,
  ) {}

  /**
   * Written before the agent starts: a service that is killed while it starts one leaves it behind too.
   *
   * @throws the system's error
   */
  static async of(directory: string, marker: string): Promise<ProcessRecord> {
    const folder = folderOf(directory);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const service = { pid: process.pid, start: startOf(process.pid) };
    const record = new ProcessRecord(join(folder, `${marker}.json`), {
      space: processSpace(),
      service,
      marker,
    });
    await record.#write(record.content);
    return record;
  }

  /** @throws the system's error */
  async started(pid: number): Promise<void> {
    await this.#write({ ...this.content, agent: { pid, start: startOf(pid) } });
  }

  /** The agent is gone, and what it has started. */
  async remove(): Promise<void> {
    await rm(this.path, { force: true });
  }

  async #write(content: Content): Promise<void> {
    const draft = `${this.path}.new`;
    await writeFile(draft, JSON.stringify(content), { mode: 0o600 });
    await rename(draft, this.path);
  }
}

const cleaned = new Map<string, Promise<void>>();

/**
 * Ends the agents that services have left in this directory when they were killed; once for each directory, so later calls wait for the
 * same end. Never rejects. On systems without `/proc` it ends none: an id alone may stand for another process.
 *
 * @example
 * await leftoversEnded(directory);
 */
export function leftoversEnded(directory: string): Promise<void> {
  const known = cleaned.get(directory);
  if (known) return known;
  const ended = endLeftovers(directory);
  cleaned.set(directory, ended);
  return ended;
}

/** As `leftoversEnded`, each time. */
export async function endLeftovers(directory: string): Promise<void> {
  const folder = folderOf(directory);
  const names = await readdir(folder).catch(() => []);
  const space = processSpace();
  await Promise.all(names.map((name) => endLeftover(join(folder, name), space)));
}

async function endLeftover(path: string, space: string | undefined): Promise<void> {
  const content = await contentOf(path);
  // What cannot be read may be a draft. The processes of another container cannot be seen here.
  if (!content || space === undefined || content.space !== space) return;
  if (runs(content.service)) return;
  const { agent, marker } = content;
  if (agent && runs(agent)) await endGroup(agent.pid, marker);
  else await endStrays(marker);
  await rm(path, { force: true }).catch(() => undefined);
}

async function endGroup(pid: number, marker: string): Promise<void> {
  const group = new ProcessGroup(pid);
  await endProcesses(group, marker, TERM_MS);
  group.forget();
}

function runs({ pid, start }: Started): boolean {
  return start !== undefined && startOf(pid) === start;
}

async function contentOf(path: string): Promise<Content | undefined> {
  try {
    const { space, service, marker, agent } = JSON.parse(await readFile(path, 'utf8')) as Content;
    const isComplete = typeof service.pid === 'number' && typeof marker === 'string' && marker !== '';
    return isComplete ? { space, service, marker, ...(agent && { agent }) } : undefined;
  } catch {
    return undefined;
  }
}

function folderOf(directory: string): string {
  return join(directory, 'processes');
}
