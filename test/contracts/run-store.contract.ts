import { createHash } from 'node:crypto';
import { jest } from '@jest/globals';
import fc from 'fast-check';
import { eventually } from '../support/conditions.js';
import {
  type Admission,
  INTERRUPTED,
  KeptAnswer,
  log,
  message,
  QueryError,
  reasoning,
  type RetentionOptions,
  type RunEnd,
  type RunRecord,
  type RunRef,
  type RunStore,
  toolCall,
  toolResult,
  type TurnAnswer,
  type TurnsPage,
  usage,
} from '../../src/query/index.js';
import { admissionOf, codeOf, ids, keptAnswer, type OpenStore, readAll, refusalOf } from './open-store.js';

/** What a store does not promise, and the reason for each. */
export interface Skips {
  restart?: string;
  logLength?: string;
  totalLength?: string;
  sessionsLength?: string;
  modules?: string;
}

const COMPLETED: RunEnd = { status: 'completed' };
const CANCELLED: RunEnd = { status: 'cancelled' };
const FAILED: RunEnd = { status: 'failed', error: { code: 'handler_failed', message: 'The agent failed.' } };
const DONE = '{"type":"done","data":{"status":"completed"}}';

/** What a page says of a text that it shows cut. */
function detailsOf(text: string) {
  const sha256 = createHash('sha256').update(text).digest('hex');
  return { truncated: true, size: Buffer.byteLength(text), sha256 };
}

/**
 * Checks that a store fulfils the contract of `RunStore`.
 *
 * @param name of the store
 * @param open opens an empty store with this retention; members that are absent have their default
 * @param skips what the store does not promise, and why
 */
export function runStoreContract(
  name: string,
  open: (retention?: Partial<RetentionOptions>) => Promise<OpenStore>,
  skips: Skips = {},
): void {
  describe(`${name} as a RunStore`, () => {
    let opened: OpenStore | undefined;
    let store: RunStore;

    const reopen = async (retention?: Partial<RetentionOptions>) => {
      await opened?.close();
      opened = undefined;
      opened = await open(retention);
      store = opened.store;
    };
    beforeEach(() => reopen());
    afterEach(async () => {
      jest.restoreAllMocks();
      await opened?.close();
      opened = undefined;
    });

    const promise = (skip: string | undefined) => (skip === undefined ? it : it.skip);
    const admit = async (admission: Partial<Admission> = {}) => store.admit(admissionOf(admission));
    const admitTo = (id: string, admission: Partial<Admission> = {}) =>
      admit({ session: { id, policy: 'enqueue', maxWaiting: 100 }, ...admission });
    const wait = async (admission: Partial<Admission> = {}) =>
      (await admit({ mayStart: false, ...admission })).run;
    const finish = async ({ owner, id, attempt }: RunRecord, end: RunEnd = COMPLETED, text = '') =>
      store.end({ owner, id, attempt }, end, keptAnswer(text));
    const logOf = (run: RunRef, after = 0) => readAll(store, run, after);
    const take = async (count = 100) => ids(await store.take(count));

    describe('the length of all logs', () => {
      const DONE_LENGTH = DONE.length;
      const text = (length: number) => JSON.stringify(message('x'.repeat(length)));

      it('is 0 without runs', async () => {
        expect(await store.logLength()).toBe(0);
      });

      it('has what was appended to unfinished and ended runs, and nothing else', async () => {
        const first = (await admit({ notices: () => ['{"type":"log"}'] })).run;
        const second = (await admitTo('s')).run;
        await store.append(first, text(10));
        await store.append(second, text(1_000));
        const lengths = text(10).length + text(1_000).length + '{"type":"log"}'.length;
        expect(await store.logLength()).toBe(lengths);
        await finish(second, COMPLETED, 'the turn');
        await eventually(async () => (await store.logLength()) === lengths + DONE_LENGTH);
        await finish(first);
        await eventually(async () => (await store.logLength()) === lengths + 2 * DONE_LENGTH);
        await store.erase('anonymous', 's');
        const left = text(10).length + '{"type":"log"}'.length + DONE_LENGTH;
        await eventually(async () => (await store.logLength()) === left);
      });
    });

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
        for (const [run, ahead] of [
          [started, undefined] as const,
          [ready, 0] as const,
          [behind, 2] as const,
        ]) {
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
          { numRuns: 15 },
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

    it('returns the turns that fit into a length, but at least one', async () => {
      for (const text of ['a', 'b', 'c']) {
        const { run } = await admitTo('s');
        await store.end(run, COMPLETED, keptAnswer(text.repeat(10_000)));
      }
      const page = async (after: number | undefined, maxLength: number) => {
        const { turns, last, total } = (await store.turns('anonymous', 's', { after, limit: 9, maxLength }))!;
        return [turns.map(({ text }) => text[0]).join(''), last, total];
      };
      expect(await page(0, 25_000)).toEqual(['ab', 2, 3]);
      expect(await page(2, 25_000)).toEqual(['c', 3, 3]);
      expect(await page(0, 1)).toEqual(['a', 1, 3]);
      expect(await page(undefined, 25_000)).toEqual(['bc', 3, 3]);
      expect(await page(undefined, 1)).toEqual(['c', 3, 3]);
    });

    describe('the envelopes of a turn', () => {
      const ENVELOPES = [
        reasoning('Hm. \u0000', { id: 'r' }),
        message('Let me look. '),
        toolCall('1', 'look', { at: ['\ud800', null] }),
        toolResult('1', 'x'.repeat(10_000), { isError: true }),
        message('It is ', { id: 'm' }),
        { type: 'message', data: { content: 'blue', lang: 'en' } },
        message(''),
        usage({ inputTokens: 1, outputTokens: 2 }),
      ];
      const ANSWER = { text: 'Let me look. It is blue', envelopes: ENVELOPES };
      const turnsOf = async (page: Partial<TurnsPage> = {}) =>
        (await store.turns('anonymous', 's', { after: 0, limit: 9, ...page }))!.turns;
      const answerIn = async (answer: TurnAnswer) => store.end((await admitTo('s')).run, COMPLETED, answer);

      it('are kept and returned as they are', async () => {
        await answerIn(ANSWER);
        await answerIn(keptAnswer('Only text'));
        await answerIn(keptAnswer());
        await answerIn({ text: 'More', envelopes: [], envelopesTruncated: true });
        const kept = [
          ANSWER,
          keptAnswer('Only text'),
          keptAnswer(),
          { text: 'More', envelopes: [], envelopesTruncated: true },
        ];
        for (const cutTexts of [true, false]) {
          const turns = await turnsOf({ cutTexts });
          expect(turns).toMatchObject(kept);
          expect(turns.map(({ envelopesTruncated }) => envelopesTruncated)).toEqual([
            undefined,
            undefined,
            undefined,
            true,
          ]);
        }
        expect(await turnsOf({ after: undefined })).toMatchObject(kept);
      });

      it('count for the length of a page', async () => {
        for (let i = 0; i < 3; i++) await answerIn(ANSWER);
        for (const cutTexts of [true, false]) {
          expect(await turnsOf({ cutTexts, maxLength: 25_000 })).toHaveLength(2);
        }
      });

      it('have messages that end where the text ends that a page shows', async () => {
        const [first, second, third] = ['a', 'b', 'c'].map((letter) => letter.repeat(40 * 1024));
        const call = toolCall('1', 'look');
        await answerIn({
          text: `${first}${second}${third}`,
          envelopes: [message(first!), call, message(second!, { id: '2' }), message(third!)],
        });
        expect((await turnsOf({ cutTexts: true }))[0]!.envelopes).toEqual([
          message(first!),
          call,
          message('b'.repeat(24 * 1024), { id: '2' }),
          message(''),
        ]);
        expect((await turnsOf())[0]!.envelopes).toEqual([
          message(first!),
          call,
          message(second!, { id: '2' }),
          message(third!),
        ]);
      });

      it('do not change with what the handler has emitted', async () => {
        const call = toolCall('1', 'look', { at: 'here' });
        const answer = new KeptAnswer();
        answer.add(call, JSON.stringify(call));
        await answerIn(answer.value);
        (call.data.arguments as { at: string }).at = 'there';
        expect((await turnsOf())[0]!.envelopes).toEqual([toolCall('1', 'look', { at: 'here' })]);
      });
    });

    describe('long texts', () => {
      // 64 KiB are cut in the middle of a character of three bytes.
      const question = `q${'漢'.repeat(30_000)}`;
      const answer = '\u0000"\\ü'.repeat(20_000);
      const shownQuestion = { text: question.slice(0, 1 + 21_845), ...detailsOf(question) };
      const shownAnswer = { text: answer.slice(0, 52_429), ...detailsOf(answer) };
      const parts = [
        { type: 'text' as const, text: 'short' },
        { type: 'text' as const, text: question },
      ];
      const finishLong = async (sessionId = 's') => {
        const { run } = await admitTo(sessionId, { parts });
        await store.end(run, COMPLETED, keptAnswer(answer));
        return run;
      };
      const turnsOf = async (cutTexts: boolean, more: object = {}) =>
        (await store.turns('anonymous', 's', { after: 0, limit: 9, cutTexts, ...more }))!.turns;

      it('are cut in pages on request, and are whole otherwise', async () => {
        await finishLong();
        expect(await turnsOf(true)).toMatchObject([
          { parts: [parts[0], { type: 'text', ...shownQuestion }], ...shownAnswer },
        ]);
        const [whole] = await turnsOf(false);
        expect(whole!.parts).toEqual(parts);
        expect(whole!.text === answer).toBe(true);
        expect(Object.keys(whole!).sort()).toEqual([
          'createdAt',
          'end',
          'endedAt',
          'envelopes',
          'parts',
          'runId',
          'text',
        ]);
      });

      it('count for the length of a page only as far as it shows them', async () => {
        await finishLong();
        await finishLong();
        expect(await turnsOf(true, { maxLength: 800_000 })).toHaveLength(2);
        expect(await turnsOf(true, { maxLength: 100_000 })).toHaveLength(1);
        expect(await turnsOf(false, { maxLength: 200_000 })).toHaveLength(1);
      });

      it('are returned by their digests, to their owner', async () => {
        const run = await finishLong();
        const textOf = async (owner: string, runId: string, sha256: string) => {
          const part = await store.part(owner, runId, sha256);
          return part?.type === 'text' ? part.text : part;
        };
        expect((await textOf('anonymous', run.id, shownQuestion.sha256)) === question).toBe(true);
        expect((await textOf('anonymous', run.id, shownAnswer.sha256)) === answer).toBe(true);
        expect(await textOf('ann', run.id, shownAnswer.sha256)).toBeUndefined();
        expect(await textOf('anonymous', 'unknown', shownAnswer.sha256)).toBeUndefined();
        expect(await textOf('anonymous', run.id, 'f'.repeat(64))).toBeUndefined();
        expect(await textOf('anonymous', '\u0000', "'")).toBeUndefined();
      });

      it('are erased with their session', async () => {
        const run = await finishLong();
        const kept = await finishLong('t');
        await store.erase('anonymous', 's');
        expect(await store.part('anonymous', run.id, shownAnswer.sha256)).toBeUndefined();
        expect(await store.part('anonymous', kept.id, shownAnswer.sha256)).toBeDefined();
      });

      it('of one size are one text, and a text of 64 KiB is not long', async () => {
        const text = 'x'.repeat(64 * 1024);
        const { run } = await admitTo('s', {
          parts: [text, `${text}x`, `${text}x`].map((each) => ({ type: 'text' as const, text: each })),
        });
        await store.end(run, COMPLETED, keptAnswer(`${text}x`));
        const shown = { text, truncated: true, size: text.length + 1 };
        const [turn] = await turnsOf(true);
        expect(turn!.parts[0]).toEqual({ type: 'text', text });
        expect(turn).toMatchObject({ parts: [{}, shown, shown], ...shown });
        const part = await store.part('anonymous', run.id, turn!.sha256!);
        expect(part).toEqual({ type: 'text', text: `${text}x` });
      });
    });

    describe('idempotency keys', () => {
      const idempotency = { key: 'k', digest: '1' };

      it('start a new run if the run that they started was interrupted', async () => {
        const { run } = await admit({ idempotency });
        await store.end(run, INTERRUPTED, keptAnswer());
        expect(await codeOf(() => admit({ idempotency: { key: 'k', digest: '2' } }))).toBe(
          'idempotency_conflict',
        );
        const again = await admit({ idempotency });
        expect([again.created, again.run.id === run.id]).toEqual([true, false]);
        expect(await admit({ idempotency })).toMatchObject({ created: false, run: { id: again.run.id } });
        expect(await store.find(run.owner, run.id)).toMatchObject({ status: 'failed' });
      });

      it('lead to the run that they started, before and after its end', async () => {
        const { run } = await admit({ idempotency });
        const repeated = await admit({ idempotency, refusal: new QueryError('draining', 'Shutting down.') });
        expect(repeated).toMatchObject({
          created: false,
          ahead: [],
          run: { id: run.id, status: 'running' },
        });
        await finish(run);
        expect(await admit({ idempotency })).toMatchObject({
          created: false,
          run: { id: run.id, status: 'completed' },
        });
      });

      it('refuse another digest', async () => {
        await admit({ idempotency });
        expect(await codeOf(() => admit({ idempotency: { key: 'k', digest: '2' } }))).toBe(
          'idempotency_conflict',
        );
      });

      it('belong to their owner', async () => {
        await admit({ idempotency });
        expect(await admit({ owner: 'ann', idempotency })).toMatchObject({ created: true });
      });

      it('find their run in a busy or full session too', async () => {
        const session = { id: 's', policy: 'reject' as const, maxWaiting: 0 };
        const { run } = await admit({ session, idempotency });
        expect(await admit({ session, idempotency })).toMatchObject({ created: false, run: { id: run.id } });
      });

      it('are still unused after a refused query', async () => {
        await codeOf(() => admit({ idempotency, refusal: new QueryError('draining', 'Shutting down.') }));
        expect(await admit({ idempotency: { key: 'k', digest: '2' } })).toMatchObject({ created: true });
      });

      it('create one run for twenty queries at the same time', async () => {
        const admitted = await Promise.all(Array.from({ length: 20 }, () => admitTo('s', { idempotency })));
        expect(admitted.filter(({ created }) => created)).toHaveLength(1);
        expect(new Set(admitted.map(({ run }) => run.id)).size).toBe(1);
        expect(await store.queue('anonymous', 's')).toHaveLength(1);
      });
    });

    describe('take', () => {
      /** Waits until the clock of the store has moved on, so that what comes next is later. */
      const later = async () => {
        const since = Date.now();
        await eventually(() => Date.now() > since + 1);
      };

      it('starts runs that wait for a slot', async () => {
        const run = await wait({ runId: 'a', notices: () => [noticeOf('Waiting.')] });
        const since = Date.now();
        const [taken, ...others] = await store.take(5);
        expect(others).toEqual([]);
        expect(taken).toMatchObject({ id: 'a', status: 'running', attempt: 1, lastSeq: 1 });
        expect(taken!.startedAt).toBeGreaterThanOrEqual(since - CLOCK_MS);
        expect(await store.find(run.owner, 'a')).toMatchObject({ status: 'running', lastSeq: 1 });
        expect(await store.take(5)).toEqual([]);
        await store.append(taken!, JSON.stringify(message('x')));
        expect((await finish(taken!))!.run).toMatchObject({ status: 'completed', lastSeq: 3 });
      });

      it('starts no more than it is asked for, those that are ready for longest first', async () => {
        const waiting: string[] = [];
        for (let i = 0; i < 5; i++) {
          waiting.push((await wait({ owner: `owner ${i % 2}` })).id);
          await later();
        }
        expect(await take(2)).toEqual(waiting.slice(0, 2));
        expect(await take(1)).toEqual(waiting.slice(2, 3));
        expect(await take(9)).toEqual(waiting.slice(3));
      });

      it('counts the time of a run from when it became the first of its session', async () => {
        const first = (await admitTo('s')).run;
        const second = (await admitTo('s')).run;
        await later();
        const alone = await wait();
        await later();
        await finish(first);
        await later();
        const last = await wait();
        expect(await take()).toEqual([alone.id, second.id, last.id]);
      });

      it('starts no run behind another one of its session', async () => {
        const [a, b, c] = [
          (await admitTo('s', { mayStart: false })).run,
          (await admitTo('s')).run,
          (await admitTo('s')).run,
        ];
        expect(await take()).toEqual([a.id]);
        expect(await take()).toEqual([]);
        await finish(a);
        expect(await take()).toEqual([b.id]);
        // Another one leaves the queue, but the first one still executes.
        await finish(c, CANCELLED);
        expect(await take()).toEqual([]);
      });

      it('returns no run twice, also if it is called many times at once', async () => {
        const waiting = [];
        for (let i = 0; i < 20; i++) waiting.push((await wait()).id);
        for (let i = 0; i < 3; i++) await admitTo('s', { mayStart: false });
        const taken = (await Promise.all([3, 1, 8, 2, 9, 4].map((count) => take(count)))).flat();
        expect(new Set(taken).size).toBe(taken.length);
        const rest = await take();
        expect(taken.length + rest.length).toBe(21);
        expect(new Set([...taken, ...rest]).size).toBe(21);
      });

      promise(skips.modules)('starts the runs of the module that is named, and no others', async () => {
        const unnamed = (await wait()).id;
        const research = (await admitTo('s', { module: 'research', mayStart: false })).run;
        const queued = (await admitTo('s', { module: 'research' })).run;
        const support = (await wait({ module: 'support' })).id;
        const takeOf = async (module: string) => ids(await store.take(9, module));
        expect(await takeOf('support')).toEqual([support]);
        expect(await takeOf('support')).toEqual([]);
        expect(await takeOf('research')).toEqual([research.id]);
        await finish(research);
        expect(await take()).toEqual([unnamed]);
        expect(await takeOf('research')).toEqual([queued.id]);
        expect(await takeOf('nobody')).toEqual([]);
      });

      promise(skips.modules)('counts the waiting runs of each module alone', async () => {
        for (let i = 0; i < 2; i++) await wait({ module: 'research', maxWaiting: 2 });
        expect(await codeOf(() => wait({ module: 'research', maxWaiting: 2 }))).toBe('at_capacity');
        expect((await wait({ maxWaiting: 1 })).status).toBe('waiting');
        expect((await wait({ module: 'support', maxWaiting: 1 })).status).toBe('waiting');
        expect(await store.take(1, 'research')).toHaveLength(1);
        expect((await wait({ module: 'research', maxWaiting: 2 })).status).toBe('waiting');
      });

      it('starts what a model of the queues says, whatever was admitted, started and ended before', async () => {
        const step = fc.oneof(
          fc.record({
            type: fc.constant('admit' as const),
            session: fc.constantFrom(undefined, 's', 't'),
            slot: fc.boolean(),
          }),
          fc.record({ type: fc.constant('take' as const), count: fc.integer({ min: 1, max: 3 }) }),
          fc.record({ type: fc.constant('finish' as const), choice: fc.nat(), isRunning: fc.boolean() }),
        );
        await fc.assert(
          fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
            await reopen();
            const waiting: RunRecord[] = [];
            const running = new Map<string, RunRecord>();
            const isReady = ({ id, sessionId }: RunRecord) =>
              sessionId === undefined ||
              (waiting.find((run) => run.sessionId === sessionId)!.id === id &&
                [...running.values()].every((run) => run.sessionId !== sessionId));
            for (const it of steps) {
              if (it.type === 'admit') {
                const { run } = await (it.session === undefined
                  ? admit({ mayStart: it.slot })
                  : admitTo(it.session, { mayStart: it.slot }));
                waiting.push(run);
                const starts = it.slot && isReady(run);
                expect(run.status).toBe(starts ? 'running' : 'waiting');
                if (!starts) continue;
                running.set(run.id, run);
                waiting.pop();
              } else if (it.type === 'take') {
                const ready = ids(waiting.filter(isReady));
                const taken = await take(it.count);
                expect(taken).toHaveLength(Math.min(it.count, ready.length));
                expect(ready).toEqual(expect.arrayContaining(taken));
                for (const id of taken) {
                  const [run] = waiting.splice(ids(waiting).indexOf(id), 1);
                  running.set(id, run!);
                }
              } else {
                const runs = it.isRunning ? [...running.values()] : waiting;
                const run = runs[it.choice % runs.length];
                if (!run) continue;
                expect((await finish(run, CANCELLED))!.run).toMatchObject({
                  id: run.id,
                  status: 'cancelled',
                });
                running.delete(run.id);
                if (waiting.includes(run)) waiting.splice(waiting.indexOf(run), 1);
              }
            }
          }),
          { numRuns: 15 },
        );
      });
    });

    describe('the log', () => {
      const textOf = (content: string) => JSON.stringify(message(content));

      it('numbers envelopes 1, 2, 3 in the order of the calls, and is readable from any of them', async () => {
        const { run } = await admit();
        await Promise.all(['a', 'b', 'c'].map(async (it) => store.append(run, textOf(it))));
        expect(await store.find(run.owner, run.id)).toMatchObject({ lastSeq: 3 });
        expect(await logOf(run)).toEqual([textOf('a'), textOf('b'), textOf('c')]);
        expect(await logOf(run, 2)).toEqual([textOf('c')]);
        expect(await store.read(run, 1)).toMatchObject({ first: 2, ended: false });
        expect(await store.read(run, 3)).toMatchObject({
          first: 4,
          count: 0,
          ended: false,
        });
      });

      it('accepts no envelope of a run that waits', async () => {
        const run = await wait();
        await store.append(run, textOf('too early'));
        expect(await logOf(run)).toEqual([]);
        expect(await take()).toEqual([run.id]);
        await store.append(run, textOf('now'));
        expect(await logOf(run)).toEqual([textOf('now')]);
      });

      it('returns every text unchanged, in slices without a gap', async () => {
        await fc.assert(
          fc.asyncProperty(
            fc.array(
              fc.tuple(
                fc.string({ unit: 'binary', maxLength: 20 }),
                fc.constantFrom(0, 1, 500, 30_000, 70_000),
              ),
              { maxLength: 25 },
            ),
            fc.nat(),
            async (contents, cursor) => {
              const texts = contents.map(([content, length]) => textOf(content + 'é'.repeat(length)));
              const { run } = await admit();
              await Promise.all(texts.map(async (text) => store.append(run, text)));
              const after = cursor % (texts.length + 1);
              expect(await logOf(run, after)).toEqual(texts.slice(after));
              await finish(run);
              expect(await logOf(run, after)).toEqual([...texts.slice(after), DONE]);
            },
          ),
          { numRuns: 25 },
        );
      });

      it('is read in slices of about 64 KiB, with the offset of the end of each', async () => {
        const { run } = await admit();
        const text = textOf('x'.repeat(1000));
        await Promise.all(Array.from({ length: 200 }, async () => store.append(run, text)));
        let after = 0;
        while (after < 200) {
          const slice = await store.read(run, after);
          expect(slice.first).toBe(after + 1);
          expect(slice.count).toBeGreaterThan(0);
          expect(slice.lines).toBe(Array(slice.count).fill(text).join('\n'));
          expect(slice.count * text.length).toBeLessThanOrEqual(64 * 1024 + text.length);
          after += slice.count;
          expect(slice.endOffset).toBe(after * text.length);
        }
        expect(await store.read(run, 200)).toMatchObject({ endOffset: 200 * text.length });
      });

      it('ends with done, after everything that was appended before', async () => {
        const { run } = await admit();
        const appended = ['a', 'b', 'c'].map(async (it) => store.append(run, textOf(it)));
        await Promise.all([...appended, finish(run)]);
        expect(await logOf(run)).toEqual([textOf('a'), textOf('b'), textOf('c'), DONE]);
        expect(await store.read(run, 3)).toMatchObject({ first: 4, ended: true });
        expect(await store.read(run, 4)).toMatchObject({ count: 0, lines: '', ended: true });
      });

      it('accepts no envelope after done, for an unknown run or from another owner', async () => {
        const { run } = await admit({ runId: 'a', owner: 'ann' });
        await store.append({ owner: 'bob', id: 'a' }, textOf('foreign'));
        await store.append({ owner: 'ann', id: 'b' }, textOf('unknown'));
        await finish(run);
        await store.append({ owner: 'ann', id: 'a' }, textOf('late'));
        expect(await logOf(run)).toEqual([DONE]);
        expect(await store.find('ann', 'a')).toMatchObject({ lastSeq: 1 });
      });

      it('does not exist for other owners', async () => {
        const { run } = await admit({ owner: 'ann' });
        expect(await codeOf(() => store.read({ owner: 'bob', id: run.id }, 0))).toBe('not_found');
        expect(await codeOf(() => store.read({ owner: 'ann', id: 'unknown' }, 0))).toBe('not_found');
      });

      promise(skips.logLength)(
        'drops its oldest envelopes at its limit, and tells which are kept',
        async () => {
          await reopen({ logLength: 200_000 });
          const { run } = await admit();
          const text = textOf('x'.repeat(1000));
          for (let i = 0; i < 500; i++) await store.append(run, text);
          await opened!.sweep?.();
          const expired = (await refusalOf(() => store.read(run, 0)))!;
          expect(expired).toMatchObject({ code: 'cursor_expired', latest: 500 });
          const oldest = expired.oldest!;
          expect((500 - oldest + 1) * text.length).toBeLessThanOrEqual(200_000);
          expect((500 - oldest + 1) * text.length).toBeGreaterThan(100_000);
          expect(await codeOf(() => store.read(run, oldest - 2))).toBe('cursor_expired');
          expect(await logOf(run, oldest - 1)).toHaveLength(500 - oldest + 1);
          const { endOffset } = await store.read(run, 500);
          expect(endOffset).toBe(500 * text.length);
          await finish(run);
          expect((await logOf(run, 490)).at(-1)).toBe(DONE);
        },
      );
    });

    describe('finish', () => {
      it('records the status, the time and done', async () => {
        for (const end of [COMPLETED, CANCELLED, FAILED]) {
          const { run } = await admit();
          const since = Date.now();
          const finished = await finish(run, end);
          expect(finished!.next).toBeUndefined();
          expect(finished!.run).toMatchObject({ id: run.id, status: end.status, end, lastSeq: 1 });
          expect(finished!.run.endedAt).toBeGreaterThanOrEqual(since - CLOCK_MS);
          expect(await store.find(run.owner, run.id)).toMatchObject({ status: end.status, end, lastSeq: 1 });
          expect((await logOf(run)).map((text) => JSON.parse(text) as unknown)).toEqual([
            { type: 'done', data: end },
          ]);
        }
      });

      it('ends a run once, and only the first of several calls', async () => {
        const { run } = await admitTo('s');
        const ends = [COMPLETED, CANCELLED, FAILED, COMPLETED, CANCELLED];
        const finished = await Promise.all(ends.map((end) => finish(run, end)));
        const winners = finished.filter((it) => it !== undefined);
        expect(winners).toHaveLength(1);
        expect((await logOf(run)).map((text) => JSON.parse(text) as unknown)).toEqual([
          { type: 'done', data: winners[0]!.run.end },
        ]);
        expect((await store.turns(run.owner, 's', { after: 0, limit: 10 }))!.total).toBe(1);
      });

      it('does nothing for an unknown run and a run of another owner', async () => {
        const { run } = await admit({ runId: 'a', owner: 'ann' });
        const waiting = await wait({ runId: 'b', owner: 'ann' });
        const attempt = 1;
        for (const id of ['a', 'b'])
          expect(await store.end({ owner: 'bob', id, attempt }, COMPLETED, keptAnswer())).toBeUndefined();
        expect(await store.end({ owner: 'ann', id: 'c', attempt }, COMPLETED, keptAnswer())).toBeUndefined();
        expect(
          await store.end({ owner: 'ann', id: '\u0000', attempt }, COMPLETED, keptAnswer()),
        ).toBeUndefined();
        expect(await store.find(run.owner, 'a')).toMatchObject({ status: 'running' });
        expect(await store.find(waiting.owner, 'b')).toMatchObject({ status: 'waiting' });
      });

      it('does nothing for a run that is at another attempt', async () => {
        const [running, waiting] = [(await admit()).run, await wait()];
        for (const run of [running, waiting]) {
          for (const attempt of [0, 2]) expect(await finish({ ...run, attempt })).toBeUndefined();
          expect(await logOf(run)).toEqual([]);
          expect(await finish(run)).toMatchObject({ run: { id: run.id, status: 'completed' } });
        }
      });

      it('ends a run that waits: after its notices, with its turn, and nobody can take it', async () => {
        const notices = () => [noticeOf('Waiting.')];
        const first = (await admitTo('s')).run;
        const behind = (await admitTo('s', { notices })).run;
        const ready = await wait({ notices });
        for (const run of [behind, ready]) {
          const finished = (await finish(run, CANCELLED))!;
          expect(finished.next).toBeUndefined();
          expect(finished.run).toMatchObject({
            id: run.id,
            status: 'cancelled',
            lastSeq: 2,
            startedAt: undefined,
          });
          const [notice, done] = await logOf(run);
          expect([notice, JSON.parse(done!)]).toEqual([
            noticeOf('Waiting.'),
            { type: 'done', data: CANCELLED },
          ]);
          expect(await finish(run)).toBeUndefined();
        }
        expect(await store.turns(first.owner, 's', { after: 0, limit: 9 })).toMatchObject({
          turns: [{ runId: behind.id, text: '', end: CANCELLED }],
        });
        expect(await take()).toEqual([]);
        expect((await finish(first))!.next).toBeUndefined();
      });

      it('promotes the next run when a run ends that waited as the first of its session', async () => {
        const [a, b] = [(await admitTo('s', { mayStart: false })).run, (await admitTo('s')).run];
        expect((await finish(a, CANCELLED))!.next).toMatchObject({ id: b.id, status: 'waiting' });
        expect(await take()).toEqual([b.id]);
      });

      it('ends a run once that is started at the same time', async () => {
        for (let i = 0; i < 10; i++) {
          const run = await wait();
          const [finished, taken] = await Promise.all([finish(run, CANCELLED), take()]);
          // The end may also come after the start.
          if (!finished) {
            expect(taken).toEqual([run.id]);
            expect((await finish(run))!.run.status).toBe('completed');
          }
          expect(await logOf(run)).toHaveLength(1);
          expect(await take()).toEqual([]);
        }
      });

      it('promotes the next run of the session', async () => {
        const [a, b, c] = [(await admitTo('s')).run, (await admitTo('s')).run, (await admitTo('s')).run];
        expect((await finish(a))!.next).toMatchObject({ id: b.id, status: 'waiting' });
        expect((await finish(b))!.next).toMatchObject({ id: c.id });
        expect((await finish(c))!.next).toBeUndefined();
        expect(await store.queue(c.owner, 's')).toEqual([]);
        expect((await admitTo('s')).ahead).toEqual([]);
      });

      it('promotes no run when a run ends that was not the first in the queue', async () => {
        const [a, b, c] = [(await admitTo('s')).run, (await admitTo('s')).run, (await admitTo('s')).run];
        expect((await finish(b, CANCELLED))!.next).toBeUndefined();
        expect(ids(await store.queue(a.owner, 's'))).toEqual([a.id, c.id]);
        expect((await finish(a))!.next).toMatchObject({ id: c.id });
      });

      it('promotes no run of a session twice, in whatever order the runs end', async () => {
        await fc.assert(
          fc.asyncProperty(fc.shuffledSubarray([0, 1, 2, 3, 4, 5], { minLength: 6 }), async (order) => {
            const session = `s${Math.random()}`;
            const runs: RunRecord[] = [];
            for (let i = 0; i < 6; i++) runs.push((await admitTo(session)).run);
            const finished = await Promise.all(order.map((index) => finish(runs[index]!)));
            const promoted = finished.flatMap((it) => (it!.next ? [it!.next.id] : []));
            expect(new Set(promoted).size).toBe(promoted.length);
            expect(await store.queue('anonymous', session)).toEqual([]);
          }),
          { numRuns: 20 },
        );
      });
    });

    describe('turns', () => {
      const parts: Admission['parts'] = [
        { type: 'text', text: 'What is this?' },
        { type: 'file', name: 'a.png', mimeType: 'image/png', size: 3, sha256: 'f'.repeat(64) },
      ];
      const page = async (after: number | undefined, limit: number, owner = 'anonymous') =>
        store.turns(owner, 's', { after, limit });

      it('contain the question, the answer, the end and the times', async () => {
        const { run } = await admitTo('s', { parts });
        const ended = await finish(run, FAILED, 'A pic\u0000ture \u{1f5bc} \ud800');
        expect(await page(undefined, 10)).toEqual({
          turns: [
            {
              runId: run.id,
              parts,
              ...keptAnswer('A pic\u0000ture \u{1f5bc} \ud800'),
              end: FAILED,
              createdAt: new Date(run.createdAt).toISOString(),
              endedAt: new Date(ended!.run.endedAt!).toISOString(),
            },
          ],
          last: 1,
          total: 1,
        });
      });

      it('are in the order in which their runs ended, and are read in pages', async () => {
        const runs: RunRecord[] = [];
        for (let i = 0; i < 5; i++) runs.push((await admitTo('s')).run);
        for (const index of [3, 0, 1, 4, 2]) await finish(runs[index]!, COMPLETED, `answer ${index}`);
        const texts = async (after: number | undefined, limit: number) => {
          const { turns, last, total } = (await page(after, limit))!;
          return [turns.map(({ text }) => Number(text.slice(7))), last, total];
        };
        expect(await texts(undefined, 10)).toEqual([[3, 0, 1, 4, 2], 5, 5]);
        expect(await texts(undefined, 2)).toEqual([[4, 2], 5, 5]);
        expect(await texts(0, 2)).toEqual([[3, 0], 2, 5]);
        expect(await texts(2, 2)).toEqual([[1, 4], 4, 5]);
        expect(await texts(4, 2)).toEqual([[2], 5, 5]);
        expect(await texts(5, 2)).toEqual([[], 5, 5]);
        expect(await texts(50, 2)).toEqual([[], 5, 5]);
      });

      it('are none before the first run of a session has ended', async () => {
        await admitTo('s');
        expect(await page(0, 10)).toEqual({ turns: [], last: 0, total: 0 });
      });

      it('do not exist for other owners', async () => {
        await finish((await admitTo('s', { owner: 'ann' })).run);
        expect(await page(0, 10)).toBeUndefined();
        expect(await store.queue('anonymous', 's')).toEqual([]);
        expect(await page(0, 10, 'ann')).toMatchObject({ total: 1 });
      });

      it('are not created for runs without a session', async () => {
        await finish((await admit()).run);
        expect(await page(0, 10)).toBeUndefined();
      });
    });

    describe('erase', () => {
      it('removes the turns, runs, logs and idempotency keys of the session, and of no other session', async () => {
        const idempotency = { key: 'k', digest: '1' };
        const { run } = await admitTo('s', { idempotency });
        const other = (await admitTo('t')).run;
        const foreign = (await admitTo('s', { owner: 'ann' })).run;
        const alone = (await admit()).run;
        for (const each of [run, other, foreign, alone]) await finish(each);
        expect(await store.erase('anonymous', 's')).toBe(true);
        expect(await store.find('anonymous', run.id)).toBeUndefined();
        expect(await codeOf(() => store.read({ owner: 'anonymous', id: run.id }, 0))).toBe('not_found');
        expect(await store.turns('anonymous', 's', { after: 0, limit: 1 })).toBeUndefined();
        expect(await store.erase('anonymous', 's')).toBe(false);
        expect(await admitTo('s', { idempotency: { key: 'k', digest: '2' } })).toMatchObject({
          created: true,
        });
        for (const kept of [other, foreign, alone]) {
          expect(await logOf(kept)).toEqual([DONE]);
          if (!kept.sessionId) continue;
          expect(await store.turns(kept.owner, kept.sessionId, { after: 0, limit: 1 })).toMatchObject({
            total: 1,
          });
        }
      });

      it('refuses a session with a run that has not ended, and does not change it', async () => {
        await finish((await admitTo('s')).run);
        const { run } = await admitTo('s');
        expect(await codeOf(() => store.erase('anonymous', 's'))).toBe('session_busy');
        expect(await store.turns('anonymous', 's', { after: 0, limit: 1 })).toMatchObject({ total: 1 });
        await finish(run);
        expect(await store.erase('anonymous', 's')).toBe(true);
      });

      it('finds no session of another owner', async () => {
        await finish((await admitTo('s', { owner: 'ann' })).run);
        expect(await store.erase('bob', 's')).toBe(false);
        expect(await store.erase('ann', 'unknown')).toBe(false);
      });
    });

    it('distinguishes owners, sessions and idempotency keys of any strings', async () => {
      const anything = fc.oneof(
        fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }),
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
        { numRuns: 20 },
      );
    });

    describe('retention', () => {
      const HOUR = 60 * 60_000;
      const dateNow = Date.now.bind(Date);
      let passed = 0;
      beforeEach(() => void (passed = 0));
      /** Lets time pass. */
      const later = async (time: number) => {
        passed += time;
        jest.spyOn(Date, 'now').mockImplementation(() => dateNow() + passed);
        opened!.advanceClock?.(time);
        await opened!.sweep?.();
      };

      it('drops a run, its log and its idempotency key when runMs have passed since its end', async () => {
        await reopen({ runMs: HOUR });
        const idempotency = { key: 'k', digest: '1' };
        const { run } = await admit({ idempotency });
        const unfinished = (await admit()).run;
        await finish(run);
        await later(HOUR - 1000);
        expect(await store.find(run.owner, run.id)).toMatchObject({ status: 'completed' });
        await later(2000);
        expect(await store.find(run.owner, run.id)).toBeUndefined();
        expect(await codeOf(() => store.read(run, 0))).toBe('not_found');
        expect(await admit({ idempotency: { key: 'k', digest: '2' } })).toMatchObject({ created: true });
        expect(await store.find(unfinished.owner, unfinished.id)).toMatchObject({ status: 'running' });
      });

      it('drops a session when sessionMs have passed since its last turn', async () => {
        await reopen({ sessionMs: HOUR, runMs: HOUR });
        const total = async () => (await store.turns('anonymous', 's', { after: 0, limit: 1 }))?.total;
        await finish((await admitTo('s')).run);
        await later(HOUR - 1000);
        await finish((await admitTo('s')).run);
        await later(HOUR - 1000);
        expect(await total()).toBe(2);
        const { run } = await admitTo('s');
        await later(2 * HOUR);
        expect(await total()).toBe(2);
        await finish(run);
        await later(HOUR + 1000);
        expect(await total()).toBeUndefined();
      });

      promise(skips.totalLength)(
        'drops the runs that ended first when all logs exceed totalLength',
        async () => {
          await reopen({ totalLength: 50_000 });
          const runs: RunRecord[] = [];
          for (let i = 0; i < 10; i++) {
            const { run } = await admit();
            runs.push(run);
            await store.append(run, JSON.stringify(message('x'.repeat(10_000))));
            await finish(run);
          }
          await opened!.sweep?.();
          const kept = await Promise.all(runs.map(async ({ owner, id }) => store.find(owner, id)));
          const oldest = kept.findIndex((run) => run !== undefined);
          expect(oldest).toBeGreaterThanOrEqual(5);
          expect(oldest).toBeLessThan(9);
          expect(kept.slice(oldest)).not.toContain(undefined);
        },
      );

      promise(skips.totalLength)(
        'trims the logs of unfinished runs when all logs exceed totalLength',
        async () => {
          await reopen({ totalLength: 1_000_000 });
          const text = JSON.stringify(message('x'.repeat(10_000)));
          const runs: RunRecord[] = [];
          for (let i = 0; i < 4; i++) runs.push((await admit()).run);
          for (let i = 0; i < 100; i++)
            for (const { owner, id } of runs) await store.append({ owner, id }, text);
          await opened!.sweep?.();
          let kept = 0;
          for (const { owner, id } of runs) {
            const expired = await refusalOf(() => store.read({ owner, id }, 0));
            kept += (100 - (expired?.oldest ?? 1) + 1) * text.length;
            expect(await logOf({ owner, id }, 99)).toEqual([text]);
          }
          expect(kept).toBeLessThanOrEqual(1_000_000);
          expect(kept).toBeGreaterThan(500_000);
        },
      );

      promise(skips.totalLength)(
        'keeps the newest 64 KiB before the last envelope of each unfinished run, whatever the limit',
        async () => {
          await reopen({ totalLength: 100_000 });
          const text = JSON.stringify(message('x'.repeat(1000)));
          const large = JSON.stringify(message('x'.repeat(300_000)));
          const runs: RunRecord[] = [];
          for (let i = 0; i < 4; i++) runs.push((await admit()).run);
          for (let i = 0; i < 200; i++) for (const run of runs) await store.append(run, text);
          for (const run of runs) await store.append(run, large);
          await opened!.sweep?.();
          for (const run of runs) {
            expect(await logOf(run, 200 - 64)).toEqual([...Array<string>(64).fill(text), large]);
          }
        },
      );

      promise(skips.sessionsLength)(
        'drops the turns of the sessions that were unused for longest when all exceed sessionsLength',
        async () => {
          await reopen({ sessionsLength: 50_000 });
          const turn = async (id: string) => finish((await admitTo(id)).run, COMPLETED, 'x'.repeat(10_000));
          for (let i = 0; i < 3; i++) await turn('old');
          for (let i = 0; i < 3; i++) await turn('new');
          await opened!.sweep?.();
          const sessionOf = async (id: string) => store.turns('anonymous', id, { after: 0, limit: 100 });
          expect((await sessionOf('new'))!.turns).toHaveLength(3);
          expect((await sessionOf('old'))?.turns.length ?? 0).toBeLessThan(3);
          for (let i = 0; i < 7; i++) await turn('new');
          await opened!.sweep?.();
          const { turns, last, total } = (await sessionOf('new'))!;
          expect(turns.length).toBeLessThan(5);
          expect(turns.length).toBeGreaterThan(1);
          expect([last, total]).toEqual([10, 10]);
          expect(await store.turns('anonymous', 'new', { after: 9, limit: 5 })).toMatchObject({ last: 10 });
        },
      );
    });

    describe('a restart', () => {
      promise(skips.restart)(
        'keeps runs that wait, with their whole query, also where pages cut it',
        async () => {
          const parts = [{ type: 'text' as const, text: 'ä'.repeat(50_000) }];
          const kwargs = { a: ['\u0000'] };
          const { run } = await admitTo('s', {
            parts,
            kwargs,
            mayStart: false,
            notices: () => [noticeOf('n')],
          });
          store = await opened!.restart!();
          expect(await store.find(run.owner, run.id)).toEqual(run);
          expect(await store.take(9)).toMatchObject([
            { id: run.id, status: 'running', attempt: 1, lastSeq: 1 },
          ]);
          expect(await store.query(run)).toEqual({
            parts,
            kwargs,
            answer: keptAnswer(),
            checkpoint: undefined,
          });
          expect(await logOf(run)).toEqual([noticeOf('n')]);
        },
      );

      promise(skips.restart)('keeps ended runs, sessions and idempotency keys', async () => {
        const idempotency = { key: 'k', digest: '1' };
        const { run } = await admitTo('s', { idempotency });
        await store.append(run, '{"type":"x","data":1}');
        await finish(run, COMPLETED, 'text');
        const before = [
          await store.find(run.owner, run.id),
          await store.turns(run.owner, 's', { after: 0, limit: 9 }),
        ];
        store = await opened!.restart!();
        expect([
          await store.find(run.owner, run.id),
          await store.turns(run.owner, 's', { after: 0, limit: 9 }),
        ]).toEqual(before);
        expect(await logOf(run)).toEqual(['{"type":"x","data":1}', DONE]);
        expect(await admitTo('s', { idempotency })).toMatchObject({ created: false, run: { id: run.id } });
      });

      promise(skips.restart)(
        'ends a running run as interrupted, with the beginning of its answer, and keeps the rest of its queue',
        async () => {
          const [a, b] = [(await admitTo('s')).run, (await admitTo('s')).run];
          await store.append(a, HALF);
          const recovered: string[] = [];
          store = await opened!.restart!({ recovered: (runId) => recovered.push(runId) });
          await eventually(() => recovered.length > 0);
          expect(recovered).toEqual([a.id]);
          expect(await store.find(a.owner, a.id)).toMatchObject({
            status: 'failed',
            end: { status: 'failed', error: { code: 'interrupted' } },
            lastSeq: 2,
          });
          const [envelope, done, ...more] = await logOf(a);
          expect([envelope, more]).toEqual([HALF, []]);
          expect(JSON.parse(done!)).toMatchObject({ type: 'done', data: { error: { code: 'interrupted' } } });
          const { turns } = (await store.turns(a.owner, 's', { after: 0, limit: 9 }))!;
          expect(turns).toMatchObject([{ runId: a.id, text: 'half an answer' }]);
          expect(await store.queue(b.owner, 's')).toMatchObject([{ id: b.id, status: 'waiting' }]);
          expect(await take()).toEqual([b.id]);
        },
      );
    });
  });
}

const HALF = JSON.stringify(message('half an answer'));

/** How much the clock of a database may differ from that of this process, which runs on the same machine, in milliseconds. */
const CLOCK_MS = 50;

function noticeOf(text: string): string {
  return JSON.stringify(log(text));
}
