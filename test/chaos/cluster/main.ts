import { faultsOf, faultsOfStop } from '../../support/cluster/final-check.js';
import { randomFrom } from '../../support/random.mjs';
import { FAULTS } from './faults.js';
import { Figures } from './figures.js';
import { Site } from './site.js';
import { type Work, work } from './workload.js';

/** The pause of a caller before it connects again: it is no part of a figure. */
const PAUSE_MS = 20;
/** The statements of a service that is cut off fail after so long. */
const TIMES = { statementTimeoutMs: 2_000, connectTimeoutMs: 1_000 };

/** What `cluster.mjs` is asked to do. */
export interface Plan {
  processes: number;
  leaseMs: number;
  /** How often each fault is tried. */
  rounds: number;
  seed: number;
  /** The names of the faults. */
  faults: string[];
}

/** Tries each fault again and again, and checks after each that nothing is lost. Returns what is wrong. */
export async function tryFaults(plan: Plan): Promise<string[]> {
  const random = randomFrom(plan.seed);
  const options = { leaseMs: plan.leaseMs, postgres: TIMES, runs: { drainMs: 5_000, stopDeadlineMs: 2_000 } };
  const site = await Site.start(plan.processes, options, random);
  const failures: string[] = [];
  try {
    for (const name of plan.faults) {
      const figures = new Figures();
      const counts = { runs: 0, events: 0, cuts: 0, interrupted: 0, failures: failures.length };
      for (let round = 1; round <= plan.rounds; round++) {
        const found = await tryFault(site, name, round, figures, counts);
        for (const failure of found) console.error(`${name} ${round}: ${failure}`);
        failures.push(...found);
      }
      counts.failures = failures.length - counts.failures;
      console.log(`${name}: ${JSON.stringify(counts)}`);
      for (const line of figures.lines) console.log(`  ${line}`);
    }
    failures.push(...(await faultsOfStop(site.cluster)));
  } finally {
    await site.close();
  }
  return failures;
}

async function tryFault(
  site: Site,
  name: string,
  round: number,
  figures: Figures,
  counts: Record<'runs' | 'events' | 'cuts' | 'interrupted', number>,
): Promise<string[]> {
  const fault = FAULTS[name]!;
  const failures: string[] = [];
  site.check = (condition, what) => void (condition || failures.push(what));
  const works = work(site, `${name} ${round}`, figures);
  await works[0]!.caller.until(({ seq }) => seq > site.random.below(60));
  await fault.inject(site);
  failures.push(...(await faultsOf(site.cluster)));
  for (const one of works) {
    failures.push(...faultsOfEnd(one, fault.interrupts));
    measure(site, one, figures);
  }
  counts.runs += new Set(works.map(({ caller }) => caller.runId)).size;
  counts.events += works.reduce((sum, { caller }) => sum + caller.received.length, 0);
  counts.cuts += works.reduce((sum, { caller }) => sum + caller.cuts.length, 0);
  counts.interrupted += works.filter(isInterrupted).length;
  return failures;
}

function faultsOfEnd(one: Work, mayBeInterrupted: boolean): string[] {
  const { caller } = one;
  // A caller that was refused has received nothing, and says why among its faults.
  if (!caller.isDone) return [];
  const { runId, end } = caller;
  const { status } = end as { status: string };
  if (one.end.includes(status) || (mayBeInterrupted && isInterrupted(one))) return [];
  return [`The run ${runId} ended with ${JSON.stringify(end)}.`];
}

function isInterrupted({ caller }: Work): boolean {
  const { error } = (caller.isDone ? caller.end : {}) as { error?: { code: string } };
  return error?.code === 'interrupted';
}

/** How long callers have waited because of the fault. */
function measure({ fault }: Site, one: Work, figures: Figures): void {
  const { caller } = one;
  const last = caller.received.at(-1);
  if (last && isInterrupted(one) && last.at > fault.at) figures.note('done', last.at - fault.at);
  for (const cut of caller.cuts) {
    const before = caller.received.findLast(({ at }) => at <= cut);
    const after = caller.received.find(({ at }) => at > cut);
    if (before && after && !isInterrupted(one)) figures.note('resume', after.at - cut - PAUSE_MS);
  }
}
