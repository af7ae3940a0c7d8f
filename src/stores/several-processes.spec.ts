import { createHash } from 'node:crypto';
import fc from 'fast-check';
import pg from 'pg';
import { PostgresProxy } from '../../test/chaos/postgres-proxy.mjs';
import { admissionOf, codeOf, ids, keptAnswer } from '../../packages/store-contract/src/opened-store.js';
import { casesOf } from '../../test/support/long-form.js';
import { eventually } from '../../test/support/conditions.js';
import {
  admit,
  admitTo,
  CANCELLED,
  COMPLETED,
  DONE,
  find,
  logOf,
  type Member,
  postgresStores,
  restartedOf,
  sessionOf,
  take,
  textOf,
} from '../../test/support/postgres-stores.js';
import { type Admission, type Admitted, dayOf, type RunRecord } from '../query/index.js';
import { addUsage } from './rows/usage-rows.js';

/** Short, so that a lease that has to end does so soon; long enough for a busy machine. */
const LEASE_MS = 2_000;

const stores = postgresStores();

describe('Two processes on one database', () => {
  let one: Member;
  let two: Member;
  beforeEach(async () => {
    one = await stores.open();
    two = await stores.open();
  });

  it('see the same runs: their state, their logs and their turns', async () => {
    const run = await admitTo(one, 's');
    await one.store.append(run, textOf('a'));
    expect(await find(two, run)).toEqual({ ...run, lastSeq: 1 });
    expect(await logOf(two, run)).toEqual([textOf('a')]);
    await one.store.end(run, COMPLETED, keptAnswer('a'));
    expect(await find(two, run)).toEqual(await find(one, run));
    expect(await logOf(two, run)).toEqual([textOf('a'), DONE]);
    const page = { after: 0, limit: 9 };
    expect(await two.store.turns('anonymous', 's', page)).toEqual(
      await one.store.turns('anonymous', 's', page),
    );
  });

  it('list the same runs and sessions', async () => {
    const executing = await admitTo(one, 's');
    await two.store.admit(admissionOf({ owner: 'bob' }));
    const behind = await admitTo(two, 's');
    const page = { after: undefined, limit: 9 };
    for (const { store } of [one, two]) {
      const { runs } = await store.runs('anonymous', page);
      expect(ids(runs).sort()).toEqual([executing.id, behind.id].sort());
      const { sessions } = await store.sessions('anonymous', page);
      expect(sessions).toMatchObject([{ id: 's', turns: 0, active: executing.id }]);
    }
  });

  it('start each run that waits once, in any of them', async () => {
    for (let i = 0; i < 40; i++) await admit(i % 2 ? one : two, { mayStart: false });
    const taken = await Promise.all([one, two, one, two, one, two].map((member) => take(member, 9)));
    const all = ids(taken.flat());
    expect(new Set(all).size).toBe(all.length);
    const rest = ids([...(await take(one)), ...(await take(two))]);
    expect(new Set([...all, ...rest]).size).toBe(40);
    expect(all.length + rest.length).toBe(40);
  });

  it('read a short query with the start of its run, a long one later, and no state that is not the newest', async () => {
    const admitted = (text: string) => admit(one, { mayStart: false, parts: [{ type: 'text', text }] });
    const [short, kept] = [await admitted('short'), await admitted('short')];
    const long = await admitted('long '.repeat(4_000));
    expect(await take(two)).toHaveLength(3);
    // What is read later is seen by this.
    const later = [{ type: 'text', text: 'read later' }];
    await stores.administer(`update ${stores.schema}.runs set parts = $1`, [JSON.stringify(later)]);
    await two.store.saveCheckpoint(kept, '1');
    expect(await two.store.query(short)).toMatchObject({
      parts: [{ type: 'text', text: 'short' }],
      kwargs: {},
    });
    expect(await two.store.query(long)).toMatchObject({ parts: later, kwargs: {} });
    expect(await two.store.query(kept)).toMatchObject({ checkpoint: '1' });
  });

  it('do not let an owner who sends many queries at once keep others from the database', async () => {
    const order: string[] = [];
    const send = async (owner: string, index: number) => {
      const session = index % 2 ? { id: 's', policy: 'enqueue' as const, maxWaiting: 1_000 } : undefined;
      await one.store.admit(admissionOf({ owner, mayStart: false, session }));
      order.push(owner);
    };
    // To open a connection takes as long as several admissions.
    const page = { after: undefined, limit: 1 };
    await Promise.all(Array.from({ length: 4 }, () => one.store.runs('ann', page)));
    const many = Array.from({ length: 200 }, (_, index) => send('ann', index));
    await Promise.all([send('bob', 0), ...many]);
    // In the order of the calls, all of them come before. How many do depends on how many the database answers at once.
    expect(order.indexOf('bob')).toBeLessThan(100);
  });

  it('share what they reserve for the files of an owner, until the lease of a process ends', async () => {
    const reserve = (member: Member, bytes: number, owner = 'ann') =>
      member.store.reserveUploads(owner, bytes, 100);
    expect(await reserve(one, 60)).toBe(true);
    expect(await reserve(two, 50)).toBe(false);
    expect(await reserve(two, 50, 'bob')).toBe(true);
    expect(await reserve(two, 40)).toBe(true);
    expect(await reserve(one, 61)).toBe(false);
    expect(await reserve(one, 50)).toBe(true);
    expect(await reserve(two, 50)).toBe(true);
    const both = await Promise.all([reserve(one, 60), reserve(two, 60)]);
    expect(both).toEqual([false, false]);
    expect(await reserve(one, 0)).toBe(true);
    expect(await reserve(two, 100)).toBe(true);
    await two.store.close();
    expect(await reserve(one, 100)).toBe(true);
    await stores.administer(`delete from ${stores.schema}.processes`);
    expect(await codeOf(() => reserve(one, 1))).toBe('unavailable');
  });

  it('say what an owner has used while one of them adds it up, each time exactly', async () => {
    const counts = { model: 'm', reasoningTokens: 0, cachedInputTokens: 0, price: 0 };
    for (const inputTokens of [1, 2]) {
      const run = await admit(one);
      await one.store.append(run, textOf('a'), { ...counts, inputTokens, outputTokens: 0 });
      await one.store.end(run, COMPLETED, keptAnswer('a'));
    }
    const today = dayOf(Date.now());
    const page = { by: 'model', from: today - 1, to: today + 1, after: undefined, limit: 9 } as const;
    const used = async () => (await two.store.usage.sums('anonymous', page)).sums;
    const all = [{ of: 'm', runs: 2, inputTokens: 3 }];
    await one.driver.transact(async (db) => {
      await addUsage(db, one.driver, (run) => run('ended_at', 'is not', null));
      expect(await used()).toMatchObject(all);
    });
    expect(await used()).toMatchObject(all);
  });

  it('execute a run only where it was started', async () => {
    const run = await admit(one);
    await two.store.append(run, textOf('foreign'));
    expect(await codeOf(() => two.store.saveCheckpoint(run, '1'))).toBe('interrupted');
    expect(await two.store.handOver(run)).toBe(false);
    expect(await two.store.end(run, CANCELLED, keptAnswer())).toBeUndefined();
    expect(await find(one, run)).toMatchObject({ status: 'running', lastSeq: 0 });
    expect((await one.store.end(run, COMPLETED, keptAnswer()))!.run.lastSeq).toBe(1);
  });

  it('continue a session in one another', async () => {
    const a = await admitTo(one, 's');
    const b = await admitTo(two, 's');
    const c = await admitTo(one, 's');
    expect(ids(await two.store.queue('anonymous', 's'))).toEqual([a.id, b.id, c.id]);
    expect(await take(two)).toEqual([]);
    expect((await one.store.end(a, COMPLETED, keptAnswer('a')))!.next).toMatchObject({ id: b.id });
    expect(ids(await take(one))).toEqual([b.id]);
    // Any of them ends what waits.
    expect((await two.store.end(c, CANCELLED, keptAnswer()))!.next).toBeUndefined();
    await one.store.end(b, COMPLETED, keptAnswer('b'));
    const { turns } = (await two.store.turns('anonymous', 's', { after: 0, limit: 9 }))!;
    expect(turns.map(({ runId }) => runId)).toEqual([a.id, c.id, b.id]);
  });

  it('execute one run of a session at a time, in order, whatever they do at the same time', async () => {
    const step = fc.record({
      isFirst: fc.boolean(),
      type: fc.constantFrom('admit', 'admit', 'take', 'finish', 'cancel' as const),
      session: fc.constantFrom('s', 't'),
      count: fc.integer({ min: 1, max: 3 }),
    });
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        const owner = `owner ${++round}`;
        const admitted: RunRecord[] = [];
        const running = new Map<string, { run: RunRecord; member: Member }>();
        const ended = new Set<string>();
        const start = (member: Member, run: RunRecord) => {
          expect(running.has(run.id) || ended.has(run.id)).toBe(false);
          for (const { run: other } of running.values()) expect(other.sessionId).not.toBe(run.sessionId);
          running.set(run.id, { run, member });
        };
        const finish = async (member: Member, run: RunRecord) => {
          // It does not execute any more as soon as another one of its session may start.
          running.delete(run.id);
          if (await member.store.end(run, COMPLETED, keptAnswer())) ended.add(run.id);
        };
        const takeAndFinish = async (member: Member, count: number) => {
          for (const run of await take(member, count)) start(member, run);
        };
        await Promise.all(
          steps.map(async ({ isFirst, type, session, count }) => {
            const member = isFirst ? one : two;
            if (type === 'admit') {
              const run = await admitTo(member, session, { owner, mayStart: false });
              admitted.push(run);
            } else if (type === 'take') {
              await takeAndFinish(member, count);
            } else if (type === 'finish') {
              const [executing] = running.values();
              if (executing) await finish(executing.member, executing.run);
            } else {
              const waiting = admitted.find(({ id }) => !running.has(id) && !ended.has(id));
              if (waiting && (await member.store.end(waiting, CANCELLED, keptAnswer())))
                ended.add(waiting.id);
            }
          }),
        );
        while (ended.size < admitted.length) {
          for (const { run, member } of [...running.values()]) await finish(member, run);
          await takeAndFinish(one, 1);
          await takeAndFinish(two, 1);
        }
        for (const session of ['s', 't']) {
          expect(await one.store.queue(owner, session)).toEqual([]);
          const completed = (await two.store.turns(owner, session, { after: 0, limit: 99 }))?.turns ?? [];
          expect(completed).toHaveLength(admitted.filter(({ sessionId }) => sessionId === session).length);
        }
      }),
      { numRuns: casesOf(5) },
    );
  });

  it('start a run or end it, if one does this and the other that at the same time', async () => {
    for (let i = 0; i < 20; i++) {
      const run = await admit(one, { mayStart: false });
      const [taken, finished] = await Promise.all([take(one), two.store.end(run, CANCELLED, keptAnswer())]);
      expect([ids(taken), finished?.run.id]).toEqual(finished ? [[], run.id] : [[run.id], undefined]);
      if (!finished) await one.store.end(run, COMPLETED, keptAnswer());
      const log = await logOf(two, run);
      expect(log).toHaveLength(1);
      expect(await logOf(one, run)).toEqual(log);
    }
  });

  it('admit no more runs than may wait in both together', async () => {
    const codes = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        codeOf(() => admit(index % 2 ? one : two, { mayStart: false, maxWaiting: 11 })),
      ),
    );
    expect(codes.filter((code) => code === 'none')).toHaveLength(11);
    expect(new Set(codes)).toEqual(new Set(['none', 'at_capacity']));
  });

  it('make one run of equal queries with one idempotency key', async () => {
    const idempotency = { key: 'k', digest: '1' };
    const admitted = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        (index % 2 ? one : two).store.admit(admissionOf({ idempotency, session: sessionOf('s') })),
      ),
    );
    expect(admitted.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(admitted.map(({ run }) => run.id)).size).toBe(1);
    expect(await two.store.queue('anonymous', 's')).toHaveLength(1);
  });

  it('give different places to queries of a session that come at the same time', async () => {
    const runs = await Promise.all(Array.from({ length: 12 }, (_, i) => admitTo(i % 2 ? one : two, 's')));
    expect(runs.filter(({ status }) => status === 'running')).toHaveLength(1);
    const queue = await one.store.queue('anonymous', 's');
    expect(new Set(ids(queue))).toEqual(new Set(ids(runs)));
    expect(queue.map(({ status }) => status)).toEqual(['running', ...Array<string>(11).fill('waiting')]);
  });

  it('admit one query of a session with the policy reject', async () => {
    const session = sessionOf('s', 'reject');
    const codes = await Promise.all(
      Array.from({ length: 10 }, (_, i) => codeOf(() => admit(i % 2 ? one : two, { session }))),
    );
    expect(codes.filter((code) => code === 'none')).toHaveLength(1);
    expect(codes.filter((code) => code === 'session_busy')).toHaveLength(9);
  });

  it('do not find what one of them has erased', async () => {
    const idempotency = { key: 'k', digest: '1' };
    const run = await admitTo(one, 's', { idempotency });
    await one.store.append(run, textOf('secret'));
    expect(await codeOf(() => two.store.erase('anonymous', 's'))).toBe('session_busy');
    await one.store.end(run, COMPLETED, keptAnswer('secret'));
    expect(await two.store.erase('anonymous', 's')).toBe(true);
    for (const member of [one, two]) {
      expect(await find(member, run)).toBeUndefined();
      expect(await member.store.turns('anonymous', 's', { after: 0, limit: 9 })).toBeUndefined();
      expect(await member.store.erase('anonymous', 's')).toBe(false);
    }
    // The process that has executed the run lets its followers read the end from memory.
    expect(await codeOf(() => two.store.read(run, 0))).toBe('not_found');
    expect((await one.store.admit(admissionOf({ idempotency: { key: 'k', digest: '2' } }))).created).toBe(
      true,
    );
  });

  it('erase a session or admit to it, if one does this and the other that at the same time', async () => {
    for (let i = 0; i < 15; i++) {
      const before = await admitTo(one, 's');
      await one.store.end(before, COMPLETED, keptAnswer());
      const [erased, after] = await Promise.all([
        two.store.erase('anonymous', 's').catch((error: { code: string }) => error.code),
        admitTo(one, 's'),
      ]);
      expect([true, 'session_busy']).toContain(erased);
      expect(await find(one, before)).toEqual(erased === true ? undefined : expect.anything());
      expect(await find(two, after)).toMatchObject({ status: 'running' });
      expect(ids(await two.store.queue('anonymous', 's'))).toEqual([after.id]);
      await one.store.end(after, COMPLETED, keptAnswer());
      const { total } = (await two.store.turns('anonymous', 's', { after: 0, limit: 9 }))!;
      expect(total).toBe(erased === true ? 1 : 2);
      await one.store.erase('anonymous', 's');
    }
  });

  it('hand a run over to one another', async () => {
    const run = await admit(one, { detached: true, parts: [{ type: 'text', text: 'x'.repeat(100_000) }] });
    await one.store.append(run, textOf('kept '));
    await one.store.saveCheckpoint(run, '{"step":1}');
    await one.store.append(run, textOf('void'));
    await one.store.handOver(run);
    const [again] = await take(two);
    expect(again).toMatchObject({ id: run.id, attempt: 2, detached: true, lastSeq: 3 });
    expect(await two.store.query(again!)).toEqual({
      parts: [{ type: 'text', text: 'x'.repeat(100_000) }],
      kwargs: {},
      answer: keptAnswer('kept '),
      checkpoint: '{"step":1}',
    });
    await one.store.append(run, textOf('late'));
    await two.store.append(again!, textOf('whole'));
    await two.store.end(again!, COMPLETED, keptAnswer());
    const log = [textOf('kept '), textOf('void'), restartedOf(2, 1), textOf('whole'), DONE];
    for (const member of [one, two]) expect(await logOf(member, run)).toEqual(log);
    // The log of both attempts has one row of offsets.
    expect(await two.store.read(run, 5)).toMatchObject({ endOffset: log.join('').length, ended: true });
    expect(await one.store.read(run, 5)).toMatchObject({ endOffset: log.join('').length, ended: true });
  });

  it('learn that a run continues when nobody follows it', async () => {
    const run = await admit(one);
    expect([await two.store.wish(run, 'detach'), await one.store.wish(run, 'detach')]).toEqual([true, false]);
    expect(await find(two, run)).toMatchObject({ detached: true });
    await one.store.handOver(run);
    expect(await take(one)).toMatchObject([{ id: run.id, detached: true }]);
  });
});

describe('Sweeps of several processes at the same time', () => {
  it('drop no more than one of them would', async () => {
    const retention = { totalLength: 300_000 };
    const [one, two] = [await stores.open({ retention }), await stores.open({ retention })];
    const runs = `${stores.schema}.runs`;
    await stores.administer(
      `insert into ${runs} (id, status, process, created_at, ended_at, log_length)
         select 'run-' || i, 'completed', '', 0, extract(epoch from now()) * 1000 + i, 1000 from generate_series(1, 500) i`,
    );
    const transact = one.driver.transact.bind(one.driver);
    let steps = 0;
    one.driver.transact = async (work) => {
      if (++steps === 2) await two.store.sweep();
      return transact(work);
    };
    await one.store.sweep();
    expect(steps).toBeGreaterThan(2);
    expect(await stores.administer(`select 1 from ${runs}`)).toHaveLength(300);
  });

  it('keep the length of a session as long as its turns, also while the lease of one ends', async () => {
    const retention = { sessionsLength: 60_000 };
    const [one, two] = [await stores.open({ retention }), await stores.open({ retention })];
    await one.store.end(await admitTo(one, 's'), COMPLETED, keptAnswer());
    const { schema } = stores;
    await stores.administer(
      `with session as (update ${schema}.sessions set length = length + 100000, turns = 101 returning key)
         insert into ${schema}.turns (session_key, number, run_id, length, page_length, turn)
           select key, i, 'run-' || i, 1000, 1000, '{}' from session, generate_series(2, 101) i`,
    );
    const client = new pg.Client({ connectionString: stores.url });
    await client.connect();
    const isWaiting = async (count: number) => {
      const { rowCount } = await client.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rowCount === count;
    };
    await client.query(`begin; select 1 from ${schema}.turns for update`);
    const first = one.store.sweep();
    await eventually(() => isWaiting(1));
    await stores.administer(`update ${schema}.processes set sweeping = 0`);
    const second = two.store.sweep();
    await eventually(() => isWaiting(2));
    await client.query('commit');
    await client.end();
    await Promise.all([first, second]);
    const [lengths] = await stores.administer<{ kept: string; real: string }>(
      `select (select sum(length) from ${schema}.sessions) as kept,
         (select sum(length) from ${schema}.turns) as real`,
    );
    expect(Number(lengths!.real)).toBeGreaterThan(0);
    expect(lengths!.kept).toBe(lengths!.real);
  });

  it('go on behind a session whose kept length is wrong, and behind one that is in use again', async () => {
    const one = await stores.open({ retention: { sessionMs: 60_000, sessionsLength: 1_000 } });
    const two = await stores.open();
    for (const session of ['used', 'old', 'wrong']) {
      await one.store.end(await admitTo(one, session), COMPLETED, keptAnswer());
    }
    const { schema } = stores;
    await stores.administer(`update ${schema}.sessions set used_at = 0 where id <> '"wrong"'`);
    await stores.administer(`update ${schema}.sessions set length = 9000 where id = '"wrong"'`);
    await stores.administer(
      `delete from ${schema}.turns where session_key = (select key from ${schema}.sessions where length = 9000)`,
    );
    const transact = one.driver.transact.bind(one.driver);
    let steps = 0;
    one.driver.transact = async (work) => {
      // Between the selection of the old sessions and the removal of the first of them.
      if (++steps === 2) await admitTo(two, 'used');
      return transact(work);
    };
    await one.store.sweep();
    const { sessions } = await one.store.sessions('anonymous', { after: undefined, limit: 9 });
    expect(sessions.map(({ id }) => id)).toEqual(['used']);
  });
});

describe('An idle process on a database', () => {
  it('sends one statement with each heartbeat, and as few with each sweep however much is kept', async () => {
    const proxy = await PostgresProxy.start(stores.url);
    const one = await stores.open({ url: proxy.url, leaseMs: LEASE_MS });
    const { schema } = stores;
    const heartbeats = async () => {
      const rows = await stores.administer<{ heartbeat: string }>(
        `select heartbeat from ${schema}.processes`,
      );
      return Number(rows[0]!.heartbeat);
    };
    /** How many statements are sent meanwhile, without the heartbeats: a busy machine may send several. */
    const sent = async (work: () => Promise<void>) => {
      const before = await heartbeats();
      proxy.arm(undefined);
      await work();
      return proxy.statements - ((await heartbeats()) - before);
    };
    const first = await heartbeats();
    await eventually(async () => (await heartbeats()) > first);
    const before = await heartbeats();
    // The connection for signals may be checked meanwhile.
    expect(await sent(() => eventually(async () => (await heartbeats()) >= before + 6))).toBeLessThan(3);

    const ofSweep = () => sent(() => one.store.sweep());
    const whenEmpty = await ofSweep();
    expect(whenEmpty).toBeLessThan(21);
    await stores.administer(
      `insert into ${schema}.runs (id, status, process, created_at, ended_at, log_length)
         select 'run-' || i, 'completed', '', 0, extract(epoch from now()) * 1000, 10 from generate_series(1, 5000) i`,
    );
    await stores.administer(
      `insert into ${schema}.contents (id, sha256, size, created_at, completed_at, process)
         select i, i, 1, 0, extract(epoch from now()) * 1000, '' from generate_series(1, 5000) i`,
    );
    await stores.administer(
      `insert into ${schema}.file_uses (run_id, sha256) select 'run-' || i, i from generate_series(1, 5000) i`,
    );
    expect((await ofSweep()) - whenEmpty).toBeLessThan(4);
    expect(await stores.administer(`select 1 from ${schema}.contents`)).toHaveLength(5000);
    await stores.reset();
    await proxy.close();
  });
});

describe('A process on a database', () => {
  it('learns what others ask of its runs, also without a signal', async () => {
    const one = await stores.open({ leaseMs: LEASE_MS });
    const two = await stores.open({ leaseMs: LEASE_MS });
    const [cancelled, detached, other] = [await admit(one), await admit(one), await admit(one)];
    await two.store.wish(cancelled, 'cancel');
    await two.store.wish(detached, 'detach');
    await two.store.wish({ ...other, owner: 'bob' }, 'cancel');
    expect(await one.store.find(detached.owner, detached.id, true)).toMatchObject({ detached: true });
    expect(await one.store.find(other.owner, other.id, true)).toMatchObject({ detached: false });
    await eventually(() => one.told.asked.size > 1);
    expect(one.told.asked).toEqual(new Set([`cancel ${cancelled.id}`, `detach ${detached.id}`]));
    expect(two.told.asked.size).toBe(0);
  });

  it('ends a run of a lost process that was to be cancelled as cancelled, whatever attempts it has', async () => {
    const one = await stores.open({ leaseMs: LEASE_MS });
    const two = await stores.open({ leaseMs: LEASE_MS, restarts: 3 });
    const run = await admit(one);
    await two.store.wish(run, 'cancel');
    await one.crash();
    await eventually(() => two.told.recovered.length > 0);
    expect(await find(two, run)).toMatchObject({ status: 'cancelled', attempt: 1 });
  });
});

describe('A query that the database has kept, although its answer was lost', () => {
  const CONTENT = 'a,b';
  const FILE = {
    ...{ type: 'file' as const, name: 'a.csv', mimeType: 'text/csv', size: CONTENT.length },
    sha256: createHash('sha256').update(CONTENT).digest('hex'),
  };
  let one: Member;
  let two: Member;
  beforeEach(async () => {
    one = await stores.open({ leaseMs: LEASE_MS });
    two = await stores.open({ leaseMs: LEASE_MS });
  });

  /** A process gets no answer, and a caller repeats the query at another one before the first does something about that. */
  async function repeated(admission: Partial<Admission>): Promise<RunRecord> {
    const query = () => admissionOf({ idempotency: { key: 'k', digest: 'd' }, ...admission });
    const transact = one.driver.transact.bind(one.driver);
    const lost = query();
    const hasFile = lost.parts.some(({ type }) => type === 'file');
    if (hasFile) await one.store.files.keep(lost.runId, FILE.sha256, new Blob([CONTENT]));
    let found: Admitted | undefined;
    one.driver.transact = async (work) => {
      one.driver.transact = async (later) => {
        found = await two.store.admit(query());
        return transact(later);
      };
      await transact(work);
      throw new Error('Connection terminated unexpectedly');
    };
    await expect(one.store.admit(lost)).rejects.toMatchObject({ code: 'unavailable' });
    if (hasFile) await one.store.files.release(lost.runId);
    await eventually(() => found !== undefined);
    expect(found).toMatchObject({ created: false, run: { id: lost.runId } });
    return found!.run;
  }

  it.each([
    ['', {}],
    [' with its files if it has a session', { session: sessionOf('s'), parts: [FILE] }],
  ])('is executed once%s, for a caller who has repeated it at another process', async (_, admission) => {
    const run = await repeated(admission);
    const started: RunRecord[] = [];
    await eventually(async () => started.push(...(await take(two))) > 0);
    expect(started).toMatchObject([{ id: run.id, attempt: 1 }]);
    if ('parts' in admission) expect(await two.store.files.read(run.id, FILE.sha256)).toBeDefined();
    await two.store.end(started[0]!, COMPLETED, keptAnswer());
    expect(await logOf(two, run)).toEqual([DONE]);
    expect(await take(one)).toEqual([]);
  });

  it('ends as interrupted if it has files and no session: its caller can send it again with the same key', async () => {
    const run = await repeated({ parts: [FILE] });
    await eventually(async () => (await find(two, run))!.endedAt !== undefined);
    expect((await find(two, run))!.end).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
    const again = admissionOf({ idempotency: { key: 'k', digest: 'd' } });
    expect(await two.store.admit(again)).toMatchObject({ created: true, run: { status: 'running' } });
  });
});

describe('The times of runs', () => {
  it('are those of the database, whatever the clocks of the processes say', async () => {
    const aheadMs = 3 * 60 * 60_000;
    const since = Date.now() + aheadMs;
    const isNow = (time: number | undefined) =>
      time! > since - 10_000 && time! < Date.now() + aheadMs + 10_000;
    const one = await stores.open({ clockAheadMs: aheadMs, leaseMs: LEASE_MS });
    const two = await stores.open({ clockAheadMs: aheadMs, leaseMs: LEASE_MS, restarts: 0 });
    const run = await admitTo(one, 's');
    expect([isNow(run.createdAt), isNow(run.startedAt)]).toEqual([true, true]);
    const waiting = await admitTo(one, 's');
    expect(isNow((await one.store.end(run, COMPLETED, keptAnswer()))!.run.endedAt)).toBe(true);
    const [started] = await take(one);
    expect([started!.id, isNow(started!.startedAt)]).toEqual([waiting.id, true]);
    await one.crash();
    await eventually(() => two.told.recovered.length > 0);
    expect(isNow((await find(two, waiting))!.endedAt)).toBe(true);
    const { turns } = (await two.store.turns('anonymous', 's', { after: 0, limit: 9 }))!;
    for (const { createdAt, endedAt } of turns)
      expect([isNow(Date.parse(createdAt)), isNow(Date.parse(endedAt))]).toEqual([true, true]);
  });
});
