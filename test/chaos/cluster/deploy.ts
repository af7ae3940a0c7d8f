import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Caller } from '../../support/cluster/caller.js';
import { Cluster } from '../../support/cluster/cluster.js';
import { faultsOf, faultsOfStop } from '../../support/cluster/final-check.js';
import type { Member } from '../../support/cluster/member.js';
import { startPostgres } from '../../support/postgres.js';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../../..');

/** How many callers ask all the time. Half of them share two sessions. */
const CALLERS = 8;
/** How many queries are answered between two steps of the deploy. */
const BETWEEN = 20;
/** Short enough to end within the drain of a process that is stopped. */
const STEPS = [{ emit: 30, everyMs: 10 }];

/**
 * Replaces two processes of another version, one after the other, by two of this version, while callers ask all the time. Every
 * query must be answered, once. Returns what is wrong.
 *
 * @param commit of the other version; it must share this version's node_modules
 */
export async function deployOver(commit: string, leaseMs: number): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-version-'));
  const other = join(directory, 'checkout');
  await run('git', ['worktree', 'add', '--detach', other, commit], { cwd: ROOT });
  const server = await startPostgres();
  const cluster = await Cluster.on(server, { leaseMs, runs: { drainMs: 10_000 } });
  const failures: string[] = [];
  let isOver = false;
  try {
    await symlink(join(ROOT, 'node_modules'), join(other, 'node_modules'));
    await run(
      process.execPath,
      [join(ROOT, 'node_modules/typescript/bin/tsc'), '-b', 'tsconfig.build.json'],
      {
        cwd: other,
      },
    );
    const dist = join(other, 'dist');
    const members: Member[] = [await cluster.add('old 1', { dist }), await cluster.add('old 2', { dist })];
    let answered = 0;
    const askOn = async (lane: number) => {
      while (!isOver) {
        const caller = cluster.ask(rotated(members, lane), {
          steps: STEPS,
          ...(lane % 2 && { session: `s${lane % 4}` }),
        });
        await caller.ended;
        failures.push(...faultsOfAnswer(caller));
        answered++;
      }
    };
    const lanes = Array.from({ length: CALLERS }, (_, lane) => askOn(lane));
    const more = async (what: string) => {
      const until = answered + BETWEEN;
      while (answered < until) await new Promise((resume) => setTimeout(resume, 20));
      console.log(`${what}: ${answered} queries answered, ${failures.length} failures`);
    };
    await more('two old processes');
    for (const number of [1, 2]) {
      members.push(await cluster.add(`new ${number}`));
      await more(`the new process ${number} has started`);
      const old = members.shift()!;
      const end = await old.stop();
      if (end !== 0) failures.push(`${old.name} ended with ${end}.`);
      await more(`the old process ${number} has stopped`);
    }
    isOver = true;
    await Promise.all(lanes);
    failures.push(...(await faultsOf(cluster)), ...(await faultsOfStop(cluster)));
    for (const member of cluster.members)
      failures.push(...member.defects.map((line) => `${member.name}: ${line}`));
  } finally {
    isOver = true;
    await cluster.close();
    await server.close();
    await run('git', ['worktree', 'remove', '--force', other], { cwd: ROOT });
    await rm(directory, { recursive: true });
  }
  for (const failure of failures.slice(0, 20)) console.error(failure);
  return failures;
}

/** Begins at another process for each caller. */
function rotated(members: Member[], by: number): Member[] {
  return members.map((_, index) => members[(index + by) % members.length]!);
}

function faultsOfAnswer(caller: Caller): string[] {
  const isRight = caller.isDone && caller.contents.length === 30;
  return isRight ? [] : [`The run ${caller.runId} ended with ${caller.received.at(-1)?.data}.`];
}
