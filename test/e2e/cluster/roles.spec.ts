import { createHash } from 'node:crypto';
import { get, request } from '../../support/client.js';
import type { Cluster } from '../../support/cluster/cluster.js';
import { clusterSuite } from '../../support/cluster/suite.js';
import { promise } from '../../promises.js';

const INTERRUPTED = { status: 'failed', error: expect.objectContaining({ code: 'interrupted' }) };
const COMPLETED = { status: 'completed' };

describe('Processes that admit, and processes that execute', () => {
  const worker = { role: 'worker', runs: { maxRunning: 1 } } as const;
  const suite = clusterSuite(
    { api: { role: 'api' }, other: { role: 'api' }, one: worker, two: worker },
    { leaseMs: 2_500 },
  );
  let cluster: Cluster;

  beforeEach(() => ({ cluster } = suite));

  it(promise('cluster.roles'), async () => {
    const api = cluster.member('api');
    const files = [Buffer.alloc(3 * 1024 * 1024, 'large'), Buffer.from('small')];
    const asked = cluster.ask(api, { files, session: 's', steps: [{ files: 1 }, { emit: 2 }] });
    await asked.ended;
    expect(asked.contents).toEqual([
      ...files.map((file) => `${createHash('sha256').update(file).digest('hex')} ${file.length} `),
      '1 ',
      '2 ',
    ]);
    const again = cluster.ask(api, { session: 's', steps: [{ turns: 1 }] });
    await again.ended;
    expect(JSON.parse(again.contents[0]!)).toEqual([asked.contents.join('')]);
    expect((await cluster.executing(asked.runId!)).options.role).toBe('worker');

    const { url } = cluster.member('one');
    expect((await get(url, '/health/live')).status).toBe(200);
    expect((await get(url, '/health/ready')).status).toBe(200);
    expect((await get(url, `/query/${asked.runId}`)).status).toBe(404);
    expect((await request(url, {}, '{}')).status).toBe(404);
  });

  it(promise('cluster.slots'), async () => {
    const api = cluster.member('api');
    const held = cluster.ask(api, { steps: [{ gate: 'held' }] });
    await cluster.gates.reached('held');
    const asked = cluster.ask(api, { steps: [{ emit: 1 }, { gate: 'asked' }] });
    await asked.until('"1 "');
    const waiting = [cluster.ask(api), cluster.ask(api)];
    await Promise.all(waiting.map((caller) => caller.until('Waiting for a slot')));
    cluster.gates.open('asked');
    await Promise.all([...waiting, asked].map(({ ended }) => ended));
    expect(held.isDone).toBe(false);
    cluster.gates.open('held');
    await held.ended;
  });

  it(promise('cluster.killed-admitting'), async () => {
    const members = [cluster.member('other'), cluster.member('api')];
    const held = cluster.ask(cluster.member('api'), { steps: [{ gate: 'end' }] });
    const asked = cluster.ask(members, { steps: [{ emit: 3 }, { gate: 'end' }, { emit: 3 }] });
    await asked.until('"3 "');
    const waiting = cluster.ask(members, { files: [Buffer.alloc(2_000_000)], steps: [{ files: 1 }] });
    await waiting.until('Waiting for a slot');
    await cluster.member('other').kill();
    cluster.gates.open('end');
    await Promise.all([held.ended, asked.ended, waiting.ended]);
    expect([asked.end, waiting.end]).toEqual([COMPLETED, COMPLETED]);
    expect(waiting.contents[0]).toMatch(/ 2000000 $/);
  });

  it(promise('cluster.killed-workers'), async () => {
    const api = cluster.member('api');
    const executing = [1, 2].map(() => cluster.ask(api, { steps: [{ gate: 'never' }] }));
    await cluster.gates.reached('never', 2);
    const waiting = [1, 2, 3].map(() => cluster.ask(api, { session: 'waiting', steps: [{ emit: 1 }] }));
    await Promise.all(waiting.map((caller) => caller.until('Waiting')));
    await Promise.all(['one', 'two'].map((name) => cluster.member(name).kill()));
    await Promise.all(executing.map(({ ended }) => ended));
    expect(executing.map(({ end }) => end)).toEqual([INTERRUPTED, INTERRUPTED]);
    expect(waiting.some(({ isDone }) => isDone)).toBe(false);
    await cluster.add('three', worker);
    await Promise.all(waiting.map(({ ended }) => ended));
    expect(waiting.map(({ end }) => end)).toEqual([COMPLETED, COMPLETED, COMPLETED]);
  });
});
