import { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import process from 'node:process';
import { jest } from '@jest/globals';
import { anyRuns, deadProcess, parsersOf } from '../../../test/support/child-processes.js';
import { eventually } from '../../../test/support/conditions.js';
import { newProcessDirectory } from 'nest-agent-query/agents';
import type { FilePart, QueryError } from 'nest-agent-query';
import { FilesLimits } from './files-limits.js';
import type { ParserJob } from './parser-job.js';
import { ParserPool } from './parser-pool.js';

const TURN = { owner: 'ada', runId: 'run' };

function partOf(content: string): FilePart {
  const file = new File([content], 'a.txt');
  return { type: 'file', name: 'a.txt', mimeType: 'text/plain', sha256: '', file };
}

async function textOf(job: ParserJob): Promise<string> {
  let whole = '';
  for await (const step of job.steps()) if ('text' in step) whole += step.text;
  return whole;
}

let pool: ParserPool;

function poolWith(values: Partial<FilesLimits>, idleMs?: number): void {
  pool = new ParserPool(Object.assign(new FilesLimits(), values), idleMs);
}

async function closePool(): Promise<void> {
  await pool.close();
  expect(await parsersOf(process.pid)).toEqual([]);
}

/** Waits for the answers. Returns which processes there were, each time it looked. */
async function processesWhile(jobs: ParserJob[]): Promise<number[][]> {
  const looks: number[][] = [];
  const looking = eventually(async () => {
    looks.push(await parsersOf(process.pid));
    return jobs.every(({ isEnded }) => isEnded);
  });
  const texts = await Promise.all(jobs.map(textOf));
  await looking;
  texts.forEach((text, index) => expect(text).toContain(`\`\`\`text\n${index}\n`));
  return looks;
}

describe('ParserPool', () => {
  afterEach(closePool);

  it('starts no process before there is a file, and never more than it may', async () => {
    poolWith({ processes: 2 });
    expect(await parsersOf(process.pid)).toEqual([]);
    const jobs = Array.from({ length: 40 }, (_, index) =>
      pool.ask({ kind: 'describe' }, [partOf(`${index}`)], TURN),
    );
    for (const pids of await processesWhile(jobs)) expect(pids.length).toBeLessThanOrEqual(2);
  });

  it('keeps a process for files that have not had a turn, which wait for one file of another owner at most', async () => {
    poolWith({ processes: 2 });
    const begun: string[] = [];
    const ask = (owner: string, name: string, isEndless = false) => {
      const part = partOf(name);
      part.file.arrayBuffer = () => {
        begun.push(name);
        return isEndless ? new Promise(() => undefined) : Blob.prototype.arrayBuffer.call(part.file);
      };
      return pool.ask({ kind: 'describe' }, [part], { owner, runId: 'run' });
    };
    const endless = ['a1', 'a2', 'a3', 'a4'].map((name) => ask('ada', name, true));
    await eventually(() => begun.length === 2);
    for (const [owner, name] of [
      ['grace', 'b'],
      ['alan', 'c'],
    ] as const)
      expect(await textOf(ask(owner, name))).toContain('1 character');
    expect(begun.slice(2, 5)).toEqual(['b', 'a3', 'c']);
    // The other process still works on it.
    expect(begun.filter((name) => name === 'a1')).toHaveLength(1);
    expect(endless.map(({ isEnded }) => isEnded)).toEqual([false, false, false, false]);
  });

  it('ends a process that was idle for long enough, and starts another for the next file', async () => {
    poolWith({}, 1);
    expect(await textOf(pool.ask({ kind: 'describe' }, [partOf('one')], TURN))).toContain('3 characters');
    await eventually(async () => (await parsersOf(process.pid)).length === 0);
    expect(await textOf(pool.ask({ kind: 'describe' }, [partOf('four')], TURN))).toContain('4 characters');
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'does not call a file broken whose process %s has ended before its first instruction',
    async (signal) => {
      poolWith({ processes: 1 });
      const started = jest.spyOn(ChildProcess.prototype as ChildProcess & { spawn: () => void }, 'spawn');
      const job = pool.ask({ kind: 'describe' }, [partOf('one')], TURN);
      const [child] = started.mock.contexts as ChildProcess[];
      started.mockRestore();
      // Node is not ready so soon after its start to hear of signals.
      child!.kill(signal);
      const answer = textOf(job).catch((error: QueryError) => error.code);
      expect(await answer).toBe('interrupted');
    },
  );

  it('ends its processes and its jobs when it is closed', async () => {
    poolWith({ processes: 1 });
    const jobs = [
      pool.ask({ kind: 'describe' }, [partOf('one')], TURN),
      pool.ask({ kind: 'describe' }, [partOf('two')], TURN),
    ];
    let pids: number[] = [];
    await eventually(async () => (pids = await parsersOf(process.pid)).length > 0);
    await pool.close();
    expect(await anyRuns(pids)).toBe(false);
    jobs.push(pool.ask({ kind: 'describe' }, [partOf('three')], TURN));
    await Promise.all(jobs.map(textOf));
    expect(jobs.map(({ isEnded }) => isEnded)).toEqual([true, true, true]);
  });

  it('removes what processes left when they or the machine crashed, and nothing else', async () => {
    const living = newProcessDirectory();
    const dead = living.replace(`-${process.pid}-`, `-${await deadProcess()}-`);
    await Promise.all([living, dead].map((directory) => mkdir(directory)));
    poolWith({});
    pool.ask({ kind: 'describe' }, [partOf('one')], TURN);
    await eventually(() => !existsSync(dead));
    expect(existsSync(living)).toBe(true);
    await rm(living, { recursive: true });
  });

  it.each([
    [{ memoryMiB: 63 }, 'FilesLimits.memoryMiB is 63; it must be a number from 64 on.'],
    [{ seconds: 0 }, 'FilesLimits.seconds is 0; it must be a number greater than 0.'],
    [{ processes: '2' }, 'FilesLimits.processes is "2"; it must be a number from 1 on.'],
    [{ threads: 2 }, 'FilesLimits.threads is 2; it is no limit.'],
    [{ constructor: 2 }, 'FilesLimits.constructor is 2; it is no limit.'],
  ])('refuses the limits %j', (values, message) => {
    expect(() => new ParserPool(Object.assign(new FilesLimits(), values))).toThrow(message);
  });
});

// No file gives way, which would end a process: on a busy machine any file may take too long.
describe('ParserPool with one process', () => {
  beforeAll(() => poolWith({ processes: 1 }));
  afterAll(closePool);

  it('uses a process for one file after another', async () => {
    const jobs = Array.from({ length: 10 }, (_, index) =>
      pool.ask({ kind: 'describe' }, [partOf(`${index}`)], TURN),
    );
    expect(new Set((await processesWhile(jobs)).flat()).size).toBe(1);
  });

  it('keeps a process that Ctrl-C reaches', async () => {
    await textOf(pool.ask({ kind: 'describe' }, [partOf('one')], TURN));
    const before = await parsersOf(process.pid);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(before[0]!, signal);
    expect(await textOf(pool.ask({ kind: 'describe' }, [partOf('two')], TURN))).toContain('3 characters');
    expect(await parsersOf(process.pid)).toEqual(before);
  });

  it('does not blame a file for an idle process that was killed', async () => {
    await textOf(pool.ask({ kind: 'describe' }, [partOf('one')], TURN));
    for (const pid of await parsersOf(process.pid)) process.kill(pid, 'SIGKILL');
    const jobs = ['three', 'four'].map((content) => pool.ask({ kind: 'describe' }, [partOf(content)], TURN));
    const texts = await Promise.all(jobs.map(textOf));
    expect(texts).toEqual([expect.stringContaining('5 characters'), expect.stringContaining('4 characters')]);
  });
});
