import { setTimeout as delay } from 'node:timers/promises';
import { cancel } from '../../support/client.js';
import type { Member } from '../../support/cluster/member.js';
import { CONNECTIONS_OF_SERVICE, occupyConnections } from '../../support/postgres.js';
import type { Site } from './site.js';

/** How long Postgres is away, or has no connection left, in milliseconds. */
const OUTAGE_MS = [200, 3_000] as const;
/** How long a process is frozen or cut off beyond its lease, in milliseconds. */
const BEYOND_LEASE_MS = 2_000;

/** Something that goes wrong. */
export interface Fault {
  /** Whether runs may end as `interrupted` because of it. */
  interrupts: boolean;
  /** Injects the fault. Resolves when it is over and all processes run again. */
  inject(site: Site): Promise<void>;
}

/** The faults by their names. */
export const FAULTS: Record<string, Fault> = {
  /** A process is killed, and started again. */
  kill: {
    interrupts: true,
    inject: async (site) => {
      await kill(site, [site.any()]);
    },
  },
  /** All processes but one are killed at the same time, and started again. */
  killOthers: {
    interrupts: true,
    inject: async (site) => {
      const [, ...others] = site.shuffled();
      await kill(site, others);
    },
  },
  /** All processes are killed at the same time, and started again. */
  killAll: {
    interrupts: true,
    inject: async (site) => {
      await kill(site, site.members);
    },
  },
  /** A process is frozen for longer than its lease. */
  freeze: {
    interrupts: true,
    inject: async (site) => {
      const member = site.any();
      member.freeze();
      site.struck([member]);
      await delay(site.leaseMs + BEYOND_LEASE_MS);
      member.wake();
    },
  },
  /** A process is cut off from Postgres for longer than its lease. */
  cutOff: {
    interrupts: true,
    inject: async (site) => {
      const member = site.any();
      member.wasFrozen = true;
      site.proxyOf(member).hold();
      site.struck([member]);
      await delay(site.leaseMs + BEYOND_LEASE_MS);
      site.proxyOf(member).release();
    },
  },
  /** A process is stopped in order, and replaced. */
  deploy: {
    interrupts: false,
    inject: async (site) => {
      const member = site.any();
      site.struck([member]);
      const [end] = await Promise.all([member.stop(), site.start(`${member.name}+`)]);
      site.replace(member);
      site.check(end === 0, `${member.name} ended with ${end}`);
    },
  },
  fastRestart: { interrupts: false, inject: (site) => restartPostgres(site, () => site.server.stop()) },
  immediateRestart: { interrupts: false, inject: (site) => restartPostgres(site, () => site.server.kill()) },
  /** All connections of Postgres are used up, after those of the service were ended. */
  connections: {
    interrupts: false,
    inject: async (site) => {
      site.struck([]);
      const release = await occupyConnections(site.server.url);
      await delay(outageMs(site));
      await release();
    },
  },
  /** Postgres ends all connections of the service, those for signals too. */
  terminate: {
    interrupts: false,
    inject: async (site) => {
      site.struck([]);
      await site.cluster.select(`select pg_terminate_backend(pid) ${CONNECTIONS_OF_SERVICE}`);
    },
  },
  /** The network swallows what is sent on the connections for signals, and says nothing. A cancel arrives all the same. */
  silence: {
    interrupts: false,
    inject: async (site) => {
      const [owner, other] = site.shuffled();
      const unwanted = site.cluster.ask(owner!, { steps: [{ emit: 1 }, { gate: 'never' }] });
      await unwanted.until('"1 "');
      site.struck([]);
      const silenced = site.members.map((member) => site.proxyOf(member).silenceListeners());
      site.check(!silenced.includes(0), `connections for signals: ${silenced.join(', ')}`);
      const { status } = await (await cancel(other!.url, unwanted.runId!)).json<{ status: string }>();
      site.check(status === 'cancelled', `a cancel without signals: ${status}`);
    },
  },
  /** The network swallows what is sent on all connections of a process but that for signals. New ones work. */
  deadPool: {
    interrupts: false,
    inject: async (site) => {
      const member = site.any();
      site.struck([]);
      site.check(site.proxyOf(member).silencePools() > 0, `${member.name} has no connections`);
    },
  },
};

async function kill(site: Site, members: Member[]): Promise<void> {
  await Promise.all(members.map((member) => member.kill()));
  site.struck(members);
  for (const member of members) {
    await site.start(member.name);
    site.replace(member);
  }
}

async function restartPostgres(site: Site, stop: () => Promise<void>): Promise<void> {
  await stop();
  site.struck([]);
  await delay(outageMs(site));
  await site.server.start();
}

function outageMs({ random }: Site): number {
  const [least, most] = OUTAGE_MS;
  return least + random.below(most - least);
}
