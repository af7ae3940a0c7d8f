import { get } from '../../support/client.js';
import { clusterSuite } from '../../support/cluster/suite.js';
import { describeWithPgBouncer, type PgBouncer, startPgBouncer } from '../../support/pgbouncer.js';
import { promise } from '../../promises.js';

const COMPLETED = { status: 'completed' };
const READY = { status: 'ready' };
const LATE = { status: 'ready', detail: 'Signals do not arrive.' };

describe.each([
  ['session', 'one URL', READY],
  ['transaction', 'one URL', LATE],
  ['transaction', 'a direct URL', READY],
] as const)('In %s mode, with %s,', (mode, urls, ready) => {
  describeWithPgBouncer('several processes behind PgBouncer', () => {
    const suite = clusterSuite({}, { leaseMs: 4_000, runs: { disconnect: { graceMs: 200 } } });
    let pooler: PgBouncer;

    beforeAll(async () => {
      const { cluster } = suite;
      const { url } = cluster.server;
      // Connections that nobody uses are closed, as the suite expects at its end.
      pooler = await startPgBouncer(url, mode, ['server_idle_timeout = 1']);
      const limits = { poolSize: 4, connectTimeoutMs: 1_000 };
      const postgres = urls === 'one URL' ? limits : { ...limits, directUrl: url };
      await cluster.add('a', { database: pooler.url, postgres });
      await cluster.add('b', { database: pooler.url, postgres });
    });
    afterAll(() => pooler.close());

    it(promise('cluster.poolers', `${mode}, ${urls}`), async () => {
      const { cluster } = suite;
      const [a, b] = [cluster.member('a'), cluster.member('b')];
      for (const { url } of [a, b]) expect(await (await get(url, '/health/ready')).json()).toEqual(ready);

      const steps = [{ emit: 3 }, { gate: 'restart' }, { emit: 50, everyMs: 20 }];
      const asked = [cluster.ask([a, b], { steps, session: 's' }), cluster.ask([b, a], { steps })];
      await Promise.all(asked.map((caller) => caller.until('"3 "')));
      const followers = [cluster.follow(b, asked[0]!.runId!), cluster.follow(a, asked[1]!.runId!)];
      await Promise.all(followers.map((caller) => caller.until('"3 "')));
      cluster.gates.open('restart');
      await asked[0]!.until('"10 "');
      await pooler.stop();
      await pooler.start();

      const callers = [...asked, ...followers];
      await Promise.all(callers.map(({ ended }) => ended));
      for (const { end, contents } of callers) {
        expect(end).toEqual(COMPLETED);
        expect(contents).toHaveLength(53);
      }
      expect(callers.flatMap(({ cuts }) => cuts)).toEqual([]);
    });

    it(promise('cluster.poolers', `${mode}, ${urls}, after the first caller has left`), async () => {
      const { cluster } = suite;
      const [a, b] = [cluster.member('a'), cluster.member('b')];
      const asked = cluster.ask(a, { steps: [{ emit: 3 }, { emit: 50, everyMs: 50 }] });
      const follower = cluster.follow(b, await asked.admitted());
      await follower.until('"3 "');
      // For more than ten times as long as `graceMs`, the run has no follower in its own process.
      asked.leave();
      await follower.ended;
      expect([follower.end, follower.contents.length]).toEqual([COMPLETED, 53]);
    });
  });
});
