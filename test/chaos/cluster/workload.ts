import { cancel } from '../../support/client.js';
import type { Caller } from '../../support/cluster/caller.js';
import type { Figures } from './figures.js';
import type { Site } from './site.js';

/** How many of each kind of query a workload has. */
const EACH = 4;
const FILE = Buffer.alloc(1_500_000, 'a file that every process needs ');

/** What a caller may be told at the end of its run. */
export type End = 'completed' | 'cancelled' | 'completed or cancelled';

/** A caller, and how its run should end if no fault interrupts it. */
export interface Work {
  caller: Caller;
  end: End;
}

/**
 * Uses all of the service at the same time, each caller at another process: long answers with followers at two processes,
 * conversations with files, retries at all processes, runs that are cancelled from elsewhere.
 *
 * @param name a part of the names of the sessions and keys, different for each workload
 */
export function work(site: Site, name: string, figures: Figures): Work[] {
  const { cluster } = site;
  const works: Work[] = [];
  const add = (caller: Caller, end: End = 'completed') => works.push({ caller, end });
  /** The processes in a random order. Later ones take the place of those that are replaced. */
  const anywhere = () => movingList(site);
  for (let i = 0; i < EACH; i++) {
    const asked = cluster.ask(anywhere(), { steps: [{ emit: 200, everyMs: 5 }] });
    add(asked);
    void asked.admitted().then(
      (runId) => add(cluster.follow(anywhere(), runId)),
      () => undefined,
    );
    for (let query = 0; query < 3; query++) {
      const files = query === 1 ? [FILE] : [];
      const steps = [{ files: 1 }, { turns: 1 }, { emit: 20, everyMs: 10 }];
      add(cluster.ask(anywhere(), { session: `${name} ${i}`, files, steps }));
    }
    const retried = { key: `${name} ${i}`, steps: [{ emit: 30, everyMs: 10 }] };
    for (let retry = 0; retry < 2; retry++) add(cluster.ask(anywhere(), { ...retried }));
    const cancelled = cluster.ask(anywhere(), { steps: [{ emit: 300, everyMs: 5 }] });
    add(cancelled, 'completed or cancelled');
    void cancelAnywhere(site, cancelled, figures);
  }
  return works;
}

/** A list of the processes that begins at a random one, and that follows the changes of the site. */
function movingList(site: Site) {
  const first = site.random.below(site.members.length);
  return new Proxy(site.members, {
    get: (_, key) => {
      const { members } = site;
      if (key === 'length') return members.length;
      if (typeof key === 'string' && /^\d+$/.test(key))
        return members[(first + Number(key)) % members.length];
      return Reflect.get(members, key) as unknown;
    },
  });
}

/** Cancels a run at some process. If that one cannot be reached, the run continues. */
async function cancelAnywhere(site: Site, caller: Caller, figures: Figures): Promise<void> {
  try {
    await caller.until((event) => event.seq > 5 + site.random.below(50));
    const began = performance.now();
    const reply = await cancel(site.any().url, caller.runId!);
    await reply.whole();
    if (reply.status === 200) figures.note('cancel', performance.now() - began);
  } catch {
    // The process is gone, or the run has ended.
  }
}
