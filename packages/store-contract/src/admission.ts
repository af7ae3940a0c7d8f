import { message, QueryError } from 'nest-agent-query';
import {
  admit,
  admitTo,
  anyText,
  CANCELLED,
  casesOf,
  CLOCK_MS,
  codeOf,
  DONE,
  finish,
  ids,
  logOf,
  noticeOf,
  refusalOf,
  reopen,
  store,
  take,
  wait,
} from './opened-store.js';
import { describe, expect, it } from './runner.js';

/** A query becomes a run, or is refused. */
export function describeAdmission(): void {
  describe('admission', () => {
    it('creates a run that waits, if there is no slot', async () => {
      const since = Date.now();
      const { run, created, ahead } = await admit({ runId: 'a', owner: 'ann', mayStart: false });
      expect(run).toMatchObject({ id: 'a', owner: 'ann', status: 'waiting', lastSeq: 0, attempt: 1 });
      expect([run.sessionId, run.startedAt, run.endedAt, run.end]).toEqual(Array(4).fill(undefined));
      expect(run.createdAt).toBeGreaterThanOrEqual(since - CLOCK_MS);
      expect(run.createdAt).toBeLessThanOrEqual(Date.now() + CLOCK_MS);
      expect({ created, ahead }).toEqual({ created: true, ahead: [] });
      expect(await store.find('ann', 'a')).toMatchObject({ id: 'a', status: 'waiting', attempt: 1 });
      expect(await logOf(run)).toEqual([]);
    });

    it('starts the run in the same step, if there is a slot and no run is ahead', async () => {
      const alone = (await admit()).run;
      const first = (await admitTo('s')).run;
      for (const run of [alone, first]) {
        expect(run).toMatchObject({ status: 'running', attempt: 1, startedAt: run.createdAt });
        expect(await store.find(run.owner, run.id)).toMatchObject({
          status: 'running',
          startedAt: run.createdAt,
        });
      }
      // Nobody else can take them.
      expect(await take()).toEqual([]);
      await store.append(first, JSON.stringify(message('at once')));
      expect(await logOf(first)).toEqual([JSON.stringify(message('at once'))]);
    });

    it('creates a run that waits behind another one of its session, also if there is a slot', async () => {
      await admitTo('s');
      const { run } = await admitTo('s');
      expect(run).toMatchObject({ status: 'waiting', startedAt: undefined });
      expect(await take()).toEqual([]);
    });

    it('keeps whether the run continues when nobody follows it', async () => {
      for (const detached of [false, true]) {
        const { run } = await admit({ detached });
        expect(run.detached).toBe(detached);
        expect(await store.find(run.owner, run.id)).toMatchObject({ detached });
        const waiting = await wait({ detached });
        expect(await store.take(1)).toMatchObject([{ id: waiting.id, detached }]);
      }
    });

    it('keeps the trace of a run, at its longest too', async () => {
      const traceparent = `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01`;
      for (const trace of [undefined, traceparent, `${traceparent} vendor=${'~'.repeat(505)}`]) {
        const { run } = await admit({ trace });
        expect(run.trace).toBe(trace);
        expect(await store.find(run.owner, run.id)).toMatchObject({ trace });
        const waiting = await wait({ trace });
        expect(await store.take(1)).toMatchObject([{ id: waiting.id, trace }]);
        expect((await finish(waiting))!.run.trace).toBe(trace);
        expect((await finish(run))!.run.trace).toBe(trace);
        expect(await store.find(run.owner, run.id)).toMatchObject({ trace });
      }
    });

    it('writes the notices as the first envelopes, and says how many runs are ahead', async () => {
      const notices = (ahead: number | undefined) => ['x', 'y'].map((it) => noticeOf(`${it} ${ahead}`));
      const started = (await admitTo('s', { notices })).run;
      const ready = (await admit({ notices, mayStart: false })).run;
      await admitTo('s');
      const behind = (await admitTo('s', { notices })).run;
      for (const [run, ahead] of [[started, undefined] as const, [ready, 0] as const, [behind, 2] as const]) {
        expect(run.lastSeq).toBe(2);
        expect(await store.find(run.owner, run.id)).toMatchObject({ lastSeq: 2 });
        expect(await logOf(run)).toEqual(notices(ahead));
        expect(await store.read(run, 2)).toMatchObject({
          count: 0,
          endOffset: 2 * notices(ahead)[0]!.length,
        });
      }
    });

    it('continues the log after any notices', async () => {
      const { default: fc } = await import('fast-check');
      const lengths = fc.array(fc.constantFrom(0, 1, 500, 40_000, 70_000), { maxLength: 5 });
      await fc.assert(
        fc.asyncProperty(lengths, fc.boolean(), async (notices, mayStart) => {
          const texts = notices.map((length, index) => noticeOf(index + 'n'.repeat(length)));
          const { run } = await admit({ mayStart, notices: () => texts });
          if (!mayStart) expect(await store.take(9)).toMatchObject([{ id: run.id, lastSeq: texts.length }]);
          const answer = JSON.stringify(message('answer'));
          await store.append(run, answer);
          expect(await logOf(run)).toEqual([...texts, answer]);
          await finish(run);
          expect(await logOf(run)).toEqual([...texts, answer, DONE]);
          const endOffset = [...texts, answer, DONE].join('').length;
          expect(await store.read(run, texts.length + 2)).toMatchObject({ endOffset, ended: true });
        }),
        { numRuns: casesOf(15) },
      );
    });

    it('returns the runs ahead in the queue of the session, oldest first', async () => {
      const [a, b, c] = [await admitTo('s'), await admitTo('s'), await admitTo('s')];
      expect([a, b, c].map(({ ahead }) => ids(ahead))).toEqual([[], [a.run.id], [a.run.id, b.run.id]]);
      expect(ids(await store.queue('anonymous', 's'))).toEqual([a.run.id, b.run.id, c.run.id]);
      expect(c.run.sessionId).toBe('s');
    });

    it('has a queue for each session, also for sessions with the same id of different owners', async () => {
      await admitTo('s');
      expect((await admitTo('other')).ahead).toEqual([]);
      expect((await admitTo('s', { owner: 'ann' })).ahead).toEqual([]);
      expect((await admit()).ahead).toEqual([]);
    });

    it('gives different queue positions to ten runs of a session that are admitted at the same time', async () => {
      const admitted = await Promise.all(Array.from({ length: 10 }, () => admitTo('s')));
      const positions = admitted.map(({ ahead }) => ahead.length);
      expect(positions.sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    });

    it('refuses a second query of a session with the policy reject, until the first run has ended', async () => {
      const session = { id: 's', policy: 'reject' as const, maxWaiting: 100 };
      const first = await admit({ session });
      expect(await codeOf(() => admit({ session }))).toBe('session_busy');
      await finish(first.run);
      expect((await admit({ session })).created).toBe(true);
    });

    it('admits queries of a session up to the limit, and refuses the next one with a time for a retry', async () => {
      const session = { id: 's', policy: 'enqueue' as const, maxWaiting: 2 };
      const first = await admit({ session });
      await admit({ session });
      await admit({ session });
      const refused = await admit({ session }).catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: 'session_full' });
      expect((refused as QueryError).extras.retryAfter).toBeGreaterThan(0);
      await finish(first.run);
      expect((await admit({ session })).ahead).toHaveLength(2);
    });

    it('admits a query with the policy interrupt behind any number of runs', async () => {
      const session = { id: 's', policy: 'interrupt' as const, maxWaiting: 0 };
      const [a, b] = [await admit({ session }), await admit({ session })];
      expect(ids(b.ahead)).toEqual([a.run.id]);
    });

    it("refuses a query with the admission's own refusal, and keeps nothing of it", async () => {
      const refusal = new QueryError('draining', 'Shutting down.');
      await expect(admitTo('s', { runId: 'a', refusal })).rejects.toBe(refusal);
      expect(await store.find('anonymous', 'a')).toBeUndefined();
      expect(await store.queue('anonymous', 's')).toEqual([]);
      expect(await store.turns('anonymous', 's', { after: 0, limit: 1 })).toBeUndefined();
    });

    it('refuses a query that would wait if as many runs of the service wait as may', async () => {
      const maxWaiting = 3;
      const [first, behind] = [(await admitTo('s')).run, (await admitTo('s')).run];
      const ready = [await wait({ owner: 'ann' }), await wait({ owner: 'bob' })];
      const refused = await refusalOf(() => admit({ runId: 'b', mayStart: false, maxWaiting }));
      expect(refused).toMatchObject({ code: 'at_capacity' });
      expect(refused!.retryAfter).toBeGreaterThan(0);
      expect(await store.find('anonymous', 'b')).toBeUndefined();
      const interrupt = { id: 's', policy: 'interrupt' as const, maxWaiting: 0 };
      expect(await codeOf(() => admit({ session: interrupt, maxWaiting }))).toBe('at_capacity');
      expect(await store.queue('anonymous', 's')).toHaveLength(2);
      // One that starts does not wait.
      expect((await admit({ maxWaiting: 0 })).run.status).toBe('running');
      // What starts or ends waits no more. What is promoted still waits.
      await finish(first);
      expect(await codeOf(() => wait({ maxWaiting }))).toBe('at_capacity');
      expect(await take(1)).toHaveLength(1);
      await wait({ maxWaiting });
      await finish((await store.find(behind.owner, behind.id))!, CANCELLED);
      for (const run of ready) await finish((await store.find(run.owner, run.id))!, CANCELLED);
      expect((await wait({ maxWaiting })).status).toBe('waiting');
    });

    it('does not admit more runs than may wait, also if many queries come at the same time', async () => {
      const codes = await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          codeOf(() => admit({ mayStart: false, maxWaiting: 7, owner: `owner ${index % 3}` })),
        ),
      );
      expect(codes.filter((code) => code === 'none')).toHaveLength(7);
      expect(codes.filter((code) => code === 'at_capacity')).toHaveLength(23);
      expect(await take()).toHaveLength(7);
    });

    it('refuses with the first of several reasons', async () => {
      const refusal = new QueryError('draining', 'Shutting down.');
      const full = { maxWaiting: 0, mayStart: false };
      await admitTo('s', { idempotency: { key: 'k', digest: '1' } });
      const session = { id: 's', policy: 'reject' as const, maxWaiting: 0 };
      const idempotency = { key: 'k', digest: '2' };
      const reasons = { refusal, ...full };
      expect(await codeOf(() => admit({ session, idempotency, ...reasons }))).toBe('idempotency_conflict');
      expect(await codeOf(() => admit({ session, ...reasons }))).toBe('session_busy');
      const enqueue = { ...session, policy: 'enqueue' as const };
      expect(await codeOf(() => admit({ session: enqueue, ...reasons }))).toBe('session_full');
      const behind = { ...enqueue, maxWaiting: 1 };
      expect(await codeOf(() => admit({ session: behind, ...reasons }))).toBe('draining');
      expect(await codeOf(() => admit({ session: behind, ...full }))).toBe('at_capacity');
      expect(await codeOf(() => admit(full))).toBe('at_capacity');
    });

    it('keeps nothing of a query that is refused at capacity', async () => {
      const notices = () => [noticeOf('never')];
      const idempotency = { key: 'k', digest: '1' };
      const refused = { maxWaiting: 0, mayStart: false, notices, idempotency };
      expect(await codeOf(() => admitTo('s', { ...refused, runId: 'a' }))).toBe('at_capacity');
      expect(await store.find('anonymous', 'a')).toBeUndefined();
      expect(await store.turns('anonymous', 's', { after: 0, limit: 1 })).toBeUndefined();
      expect((await admitTo('s', { idempotency: { key: 'k', digest: '2' } })).created).toBe(true);
    });

    it('finds the run of a repeated query, also if the queue is full and no slot is free', async () => {
      const idempotency = { key: 'k', digest: '1' };
      const run = await wait({ idempotency });
      const repeated = await admit({ idempotency, mayStart: false, maxWaiting: 0 });
      expect(repeated).toMatchObject({ created: false, ahead: [], run: { id: run.id, status: 'waiting' } });
      // It does not start the run either.
      expect((await admit({ idempotency })).run.status).toBe('waiting');
      expect(await take()).toEqual([run.id]);
    });
  });

  it('distinguishes owners, sessions and idempotency keys of any strings', async () => {
    const { default: fc } = await import('fast-check');
    const anything = fc.oneof(
      anyText(fc, { minLength: 1, maxLength: 8 }),
      fc.constantFrom(
        '\u0000',
        'a\u0000',
        '\ud800',
        '\ud801',
        '","',
        "'",
        '%',
        '\\',
        'é',
        'e\u0301',
        'A',
        'a',
        'a ',
      ),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.tuple(anything, anything), {
          minLength: 2,
          maxLength: 6,
          selector: (pair) => JSON.stringify(pair),
        }),
        async (names) => {
          await reopen();
          for (const [owner, id] of names) {
            const admitted = await admitTo(id, { owner, idempotency: { key: id, digest: owner } });
            expect(admitted).toMatchObject({ created: true, ahead: [], run: { owner, sessionId: id } });
          }
          for (const [owner, id] of names) {
            const [run, ...others] = await store.queue(owner, id);
            expect(run).toMatchObject({ owner, sessionId: id });
            expect(others).toEqual([]);
          }
        },
      ),
      { numRuns: casesOf(20) },
    );
  });
}
