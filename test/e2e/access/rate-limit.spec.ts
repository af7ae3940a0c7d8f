import pg from 'pg';
import { UseGuards } from '@nestjs/common';
import {
  createApiKey,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
} from '../../../src/access/index.js';
import { type HandlerFunction, message, QueryModule } from '../../../src/index.js';
import { postgresPool } from '../../../src/stores/index.js';
import { promise } from '../../promises.js';
import { bearer, guarded } from '../../support/access.js';
import { ask, cancel, follow, FULL, type Reply } from '../../support/client.js';
import { eventuallyElsewhere } from '../../support/conditions.js';
import { describeOnOneAdapter, type Host, startHost } from '../../support/host.js';
import { OperatorLog } from '../../support/operator-log.js';
import { type PostgresServer, startPostgres } from '../../support/postgres.js';

const [ann, bob] = [createApiKey('ann'), createApiKey('bob')];

const sayHi: HandlerFunction = async function* () {
  yield message('Hi');
};

/** The status, and what the response says of the rate. */
async function rateOf(reply: Reply): Promise<unknown[]> {
  await reply.whole();
  const { 'ratelimit-policy': policy, ratelimit, 'retry-after': retryAfter } = reply.headers;
  return [reply.status, policy, ratelimit, retryAfter];
}

const remaining = (count: number): unknown =>
  expect.stringMatching(new RegExp(`^"minute";r=${count};t=([1-9]|[1-5][0-9]|60)$`));
const secondsToWait = expect.stringMatching(/^([1-9]|[1-5][0-9]|60)$/);

describeOnOneAdapter('The rate of queries, on %s', (adapter) => {
  const hosts: Host[] = [];

  afterEach(async () => {
    for (const host of hosts.splice(0)) {
      await host.idle();
      await host.close();
    }
  });

  async function start(rate: RateLimitModuleOptions): Promise<{ url: string; log: OperatorLog }> {
    let log!: OperatorLog;
    const module = guarded(sayHi, { keys: [ann.configured, bob.configured] }, rate);
    const host = await startHost(adapter, module, (app) => void (log = OperatorLog.of(app)));
    hosts.push(host);
    return { url: host.url, log };
  }

  const asAnn = { headers: bearer(ann.key) };
  const asBob = { headers: bearer(bob.key) };

  it(promise('rate.headers'), async () => {
    const { url } = await start({ queriesPerMinute: 60 });
    const policy = '"minute";q=60;w=60';
    expect(await rateOf(await ask(url, 'Hi', asAnn))).toEqual([200, policy, remaining(59), undefined]);
    const detached = await ask(url, 'Hi', { headers: { ...asAnn.headers, prefer: 'respond-async' } });
    expect(await rateOf(detached)).toEqual([202, policy, remaining(58), undefined]);
    const faulty = await ask(url, 'Hi', { headers: { ...asAnn.headers, 'content-type': 'text/plain' } });
    expect(await rateOf(faulty)).toEqual([415, policy, remaining(57), undefined]);
    expect(await rateOf(await ask(url, 'Hi'))).toEqual([401, undefined, undefined, undefined]);
  });

  it(promise('rate.limit'), async () => {
    const { url } = await start({ queriesPerMinute: 2 });
    const policy = '"minute";q=2;w=60';
    const replies = await Promise.all(Array.from({ length: 6 }, () => ask(url, 'Hi', asAnn)));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 200, 429, 429, 429, 429]);
    const refused = replies.filter(({ status }) => status === 429);
    for (const reply of refused) {
      expect(await rateOf(reply)).toEqual([429, policy, remaining(0), secondsToWait]);
      expect(JSON.parse(reply.text)).toMatchObject({
        status: 429,
        code: 'rate_limited',
        title: 'Too Many Requests',
      });
    }
    expect(await rateOf(await ask(url, 'Hi', asBob))).toEqual([200, policy, remaining(1), undefined]);
  });

  it(promise('rate.limit', 'by the owners of the host'), async () => {
    const owner = (request: { headers: Record<string, unknown> }) => request.headers['x-caller'] as string;
    const host = await startHost(adapter, {
      module: class HostModule {},
      imports: [
        RateLimitModule.forRoot({ queriesPerMinute: 1, owner }),
        QueryModule.forRoot({ handler: sayHi, decorators: [UseGuards(RateLimitGuard)], owner }),
      ],
    });
    hosts.push(host);
    const statuses: number[] = [];
    for (const headers of [{ 'x-caller': 'ann' }, { 'x-caller': 'ann' }, { 'x-caller': 'bob' }, {}, {}]) {
      const reply = await ask(host.url, 'Hi', { headers });
      await reply.whole();
      statuses.push(reply.status);
    }
    expect(statuses).toEqual([200, 429, 200, 200, 429]);
  });

  it(promise('rate.resume'), async () => {
    const { url } = await start({ queriesPerMinute: 2 });
    const asked = await ask(url, 'Hi', asAnn);
    await asked.whole();
    for (let count = 0; count < 5; count++) {
      const resumed = await ask(url, 'Hi', {
        headers: { ...asAnn.headers, ...FULL, 'last-event-id': `${asked.runId}.1` },
      });
      expect(await rateOf(resumed)).toEqual([200, undefined, undefined, undefined]);
      expect((await rateOf(await follow(url, asked.runId, asAnn.headers)))[0]).toBe(200);
      expect((await cancel(url, asked.runId)).status).toBe(401);
    }
    // An empty cursor names no run: this is a query.
    const begun = await ask(url, 'Hi', { headers: { ...asAnn.headers, 'last-event-id': '' } });
    expect(await rateOf(begun)).toEqual([200, expect.anything(), remaining(0), undefined]);
    expect((await rateOf(await ask(url, 'Hi', asAnn)))[0]).toBe(429);
  });

  it.each([
    [{ queriesPerMinute: 0 }, 'queriesPerMinute must be a whole number from 1 to 1000000.'],
    [{ queriesPerMinute: 1, perMinute: 1 }, 'RateLimitModule: perMinute is not an option.'],
  ])(promise('access.options', '%j'), async (options, fault) => {
    await expect(start(options)).rejects.toThrow(fault);
  });

  describe('with Postgres', () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server.close());

    const startShared = async (schema: string, queriesPerMinute: number) =>
      start({ queriesPerMinute, postgres: await postgresPool(`${server.url}?schema=${schema}`) });

    it(promise('rate.shared'), async () => {
      const processes = await Promise.all([1, 2, 3].map(() => startShared('shared "rates"', 7)));
      // Who creates the table for many at once may take longer than a query waits for it, on a busy machine.
      for (const { url } of processes) expect((await rateOf(await ask(url, 'Hi', asBob)))[0]).toBe(200);
      const replies = await Promise.all(
        Array.from({ length: 21 }, (_, index) => ask(processes[index % 3]!.url, 'Hi', asAnn)),
      );
      const rates = await Promise.all(replies.map(rateOf));
      expect(rates.filter(([status]) => status === 200)).toHaveLength(7);
      expect(rates.filter(([status]) => status === 429)).toHaveLength(14);
      expect(await rateOf(await ask(processes[0]!.url, 'Hi', asBob))).toEqual([
        200,
        '"minute";q=7;w=60',
        remaining(3),
        undefined,
      ]);
      expect(processes.flatMap(({ log }) => log.troubles)).toEqual([]);
      const client = new pg.Client(server.url);
      await client.connect();
      const { rows } = await client.query(
        'select key, points from "shared ""rates""".query_rates order by points',
      );
      await client.end();
      // The table does not say who they are.
      expect(rows).toEqual([
        { key: expect.stringMatching(/^[\w:-]{43,}$/), points: 4 },
        { key: expect.stringMatching(/^[\w:-]{43,}$/), points: 21 },
      ]);
    });

    it(promise('rate.outage'), async () => {
      const { url, log } = await startShared('outage', 3);
      expect((await rateOf(await ask(url, 'Hi', asAnn)))[0]).toBe(200);
      await server.stop();
      const statuses: unknown[] = [];
      for (let count = 0; count < 4; count++) statuses.push((await rateOf(await ask(url, 'Hi', asAnn)))[0]);
      expect(statuses).toEqual([200, 200, 200, 429]);
      expect(log.troubles).toEqual([
        expect.stringMatching(/^warn The queries of owners cannot be counted in Postgres, .+ RateLimit$/),
      ]);
      await server.start();
      await eventuallyElsewhere(async () => {
        await rateOf(await ask(url, 'Hi', asBob));
        return log.lines.some((line) => line.includes('are counted in Postgres again'));
      });
      expect(log.troubles).toHaveLength(1);
    });
  });
});
