import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Caller } from '../../support/cluster/caller.js';
import { Cluster } from '../../support/cluster/cluster.js';
import { faultsOf, faultsOfStop } from '../../support/cluster/final-check.js';
import type { Member } from '../../support/cluster/member.js';
import { startPostgres } from '../../support/postgres.js';
import { randomFrom } from '../../support/random.mjs';
import { Figures } from './figures.js';

/** How many runs are unfinished at any time. */
const RUNS = 6;
/** Larger than what a run meets. */
const RESTARTS = 1_000;
const STEPS = [{ checkpointed: 10, everyMs: 30 }];
/** The answer of an undisturbed run. */
const ANSWER = Array.from({ length: 10 }, (_, part) => [...'abc'].map((letter) => `${part + 1}${letter} `))
  .flat()
  .join('');
/** The most time from the start of a process to its end, in milliseconds. */
const LIFE_MS = 1_500;

export interface KillPlan {
  processes: number;
  leaseMs: number;
  seed: number;
  kills: number;
  /** Whether there is one process, on a file. */
  isFile: boolean;
}

/**
 * Kills processes at random moments, while runs with checkpoints execute. Each run must complete, and without what is void, its
 * answer must be that of an undisturbed run: for the caller that stayed, and for one that comes later. Returns what is wrong.
 */
export async function killAgain(plan: KillPlan): Promise<string[]> {
  const random = randomFrom(plan.seed);
  const figures = new Figures();
  const server = await startPostgres();
  const cluster = await Cluster.on(server, { leaseMs: plan.leaseMs, restarts: RESTARTS });
  const database = plan.isFile ? { database: `file:${join(cluster.directory, 'runs.db')}` } : {};
  const names = plan.isFile ? ['p1'] : Array.from({ length: plan.processes }, (_, i) => `p${i + 1}`);
  const members: Member[] = await Promise.all(names.map((name) => cluster.add(name, database)));
  const failures: string[] = [];
  const all: Caller[] = [];
  let isOver = false;

  /** Asks again and again. Every second run is in a session. */
  const askOn = async (lane: number) => {
    while (!isOver) {
      const caller = cluster.ask(members, { steps: STEPS, ...(lane % 2 && { session: `s${lane}` }) });
      all.push(caller);
      await caller.ended;
      const late = cluster.follow(members, caller.runId!);
      await late.ended;
      for (const each of [caller, late]) check(each);
    }
  };
  const check = (caller: Caller) => {
    const answer = caller.contents.join('');
    const isRight =
      caller.isDone && answer === ANSWER && (caller.end as { status: string }).status === 'completed';
    if (!isRight)
      failures.push(`The run ${caller.runId} ended with ${caller.received.at(-1)?.data}: ${answer}`);
    const restarted = caller.received.filter(({ data }) => data.startsWith('{"type":"restarted"'));
    figures.note('restarts per run', restarted.length);
  };

  const starting = new Set<Promise<void>>();
  const replace = async (lost: Member) => {
    const began = performance.now();
    members[members.indexOf(lost)] = await cluster.add(lost.name, database);
    figures.note('start', performance.now() - began);
  };

  try {
    const lanes = Array.from({ length: RUNS }, (_, lane) => askOn(lane));
    for (let kill = 1; kill <= plan.kills; kill++) {
      await delay(random.below(LIFE_MS));
      // One process goes on, unless there is only one.
      while (members.filter(({ isRunning }) => isRunning).length < Math.min(2, members.length))
        await delay(20);
      const lost = random.pick(members.filter(({ isRunning }) => isRunning));
      await lost.kill();
      starting.add(replace(lost));
      if (kill % 20 === 0) console.log(`${kill} kills, ${all.length} runs, ${failures.length} failures`);
    }
    await Promise.all(starting);
    isOver = true;
    await Promise.all(lanes);
    // A process that starts on a busy machine may lose its lease: then its runs continue too.
    for (const member of cluster.members) member.wasFrozen = true;
    if (!plan.isFile) failures.push(...(await faultsOf(cluster)), ...(await faultsOfStop(cluster)));
  } finally {
    isOver = true;
    await cluster.close();
    await server.close();
  }
  console.log(JSON.stringify({ kills: plan.kills, runs: all.length }));
  for (const line of figures.lines) console.log(`  ${line}`);
  for (const failure of failures.slice(0, 20)) console.error(failure);
  return failures;
}
