import { Cluster, type ClusterOptions } from '../../support/cluster/cluster.js';
import type { Member } from '../../support/cluster/member.js';
import { type PostgresServer, startPostgres } from '../../support/postgres.js';
import type { randomFrom } from '../../support/random.mjs';
import { PostgresProxy } from '../postgres-proxy.mjs';

/** The clocks of the processes differ by up to so much, in milliseconds. */
const CLOCK_MS = 600_000;

/** What a program knows about its cluster: the processes that should run, each behind a proxy of its own. */
export class Site {
  /** The processes that run, or that are going to be replaced. */
  members: Member[] = [];
  /** Called with what is wrong, if a condition does not hold. */
  check: (condition: boolean, what: string) => void = () => undefined;
  /** When the last fault struck, and which processes. */
  fault: { at: number; members: Member[] } = { at: Infinity, members: [] };
  readonly #proxies = new Map<Member, PostgresProxy>();

  private constructor(
    readonly server: PostgresServer,
    readonly cluster: Cluster,
    readonly leaseMs: number,
    readonly random: ReturnType<typeof randomFrom>,
  ) {}

  /** Starts a Postgres and so many processes. */
  static async start(
    processes: number,
    options: ClusterOptions & { leaseMs: number },
    random: Site['random'],
  ): Promise<Site> {
    const server = await startPostgres(['max_connections = 60', 'superuser_reserved_connections = 1']);
    const site = new Site(server, await Cluster.on(server, options), options.leaseMs, random);
    const names = Array.from({ length: processes }, (_, i) => `p${i + 1}`);
    site.members = await Promise.all(names.map((name) => site.start(name)));
    return site;
  }

  any(): Member {
    return this.random.pick(this.members);
  }

  shuffled(): Member[] {
    return this.members
      .map((member) => [this.random.next(), member] as const)
      .toSorted(([one], [other]) => one - other)
      .map(([, member]) => member);
  }

  proxyOf(member: Member): PostgresProxy {
    return this.#proxies.get(member)!;
  }

  /** Starts a process. */
  async start(name: string): Promise<Member> {
    const proxy = await PostgresProxy.start(this.server.url);
    const clockMs = Math.round((2 * this.random.next() - 1) * CLOCK_MS);
    const member = await this.cluster.add(name, { database: proxy.url, clockMs });
    this.#proxies.set(member, proxy);
    return member;
  }

  /** The process that was started last takes the place of another one. */
  replace(member: Member): void {
    const index = this.members.indexOf(member);
    this.members[index] = this.cluster.members.at(-1)!;
    void this.proxyOf(member).close();
    this.#proxies.delete(member);
  }

  /** Notes the moment of a fault. */
  struck(members: Member[]): void {
    this.fault = { at: performance.now(), members };
  }

  async close(): Promise<void> {
    await this.cluster.close();
    await Promise.all([...this.#proxies.values()].map((proxy) => proxy.close()));
    await this.server.close();
  }
}
