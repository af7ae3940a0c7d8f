import { answer, approval, asking, lets, yes } from './inputs.js';
import {
  CANCELLED,
  codeOf,
  eventually,
  find,
  finish,
  inSession,
  keptAnswer,
  logOf,
  newRun,
  restart,
  restartedOf,
  store,
  take,
  takeAgain,
  textOf,
  tick,
} from './opened-store.js';
import { describe, expect, it } from './runner.js';

const surviving = (state?: string) => ({ ...asking(), state, survives: true });
const park = async (run: Parameters<NonNullable<typeof store.inputs>['park']>[0]) => store.inputs!.park(run);

/** Runs that ask, and whose handler is called again later. */
export function describeParkedRuns(): void {
  describe('a run that asks and is parked', () => {
    it('goes on in its next attempt with the state of the question, and nothing is void', async () => {
      const run = await newRun({ session: inSession('s') });
      await store.append(run, textOf('before '));
      const { text } = await lets(run, surviving('{"step":1}'));
      expect(await park(run)).toBe(true);
      expect(await find(run)).toMatchObject({ status: 'input_required', attempt: 1 });
      expect(await codeOf(() => store.saveCheckpoint(run, '2'))).toBe('interrupted');
      await answer(run, yes());
      const second = await takeAgain(run);
      expect(second.attempt).toBe(2);
      const query = await store.query(second);
      expect(query).toMatchObject({ checkpoint: '{"step":1}', answer: { text: 'before ' } });
      expect(query.answer.envelopes.map(({ type }) => type)).toEqual([
        'message',
        'input_required',
        'input_resolved',
      ]);
      await store.append(second, textOf('after'));
      const log = await logOf(run);
      expect([log[0], log[1], log[3]]).toEqual([textOf('before '), text, textOf('after')]);
    });

    it('without a state begins with the last checkpoint: the rest is void, and the answers stay', async () => {
      const run = await newRun();
      await store.append(run, textOf('kept '));
      await store.saveCheckpoint(run, '1');
      await store.append(run, textOf('void '));
      await lets(run, surviving());
      await park(run);
      await answer(run, yes());
      expect((await logOf(run)).at(-1)).toBe(restartedOf(2, 1));
      const second = await takeAgain(run);
      expect(await store.query(second)).toMatchObject({ checkpoint: '1', answer: keptAnswer('kept ') });
      expect((await store.inputs!.of(run))[0]!.resolved).toMatchObject({ outcome: 'answered' });
    });

    it('keeps the state of its question when it is lost after the answer', async () => {
      const run = await newRun();
      await lets(run, surviving('"asked"'));
      await park(run);
      await answer(run, yes());
      await store.append(await takeAgain(run), textOf('lost'));
      await restart({ restarts: () => 1 });
      expect((await logOf(run)).at(-1)).toBe(restartedOf(3, 2));
      const query = await store.query(await takeAgain(run));
      expect(query.checkpoint).toBe('"asked"');
      expect(query.answer.envelopes.map(({ type }) => type)).toEqual(['input_required', 'input_resolved']);
    });

    it('stays with its process if its handler cannot be called again', async () => {
      const run = await newRun();
      await lets(run);
      expect(await park(run)).toBe(false);
      await answer(run, yes());
      expect(await park(run)).toBe(false);
      expect((await takeAgain(run)).attempt).toBe(1);
    });

    it('is not parked any more when it has been taken: its handler goes on', async () => {
      const run = await newRun();
      await lets(run, surviving('1'));
      await answer(run, yes());
      await takeAgain(run);
      expect(await park(run)).toBe(false);
      expect(await find(run)).toMatchObject({ status: 'running', attempt: 1 });
      await finish(run);
      expect(await park(run)).toBe(true);
    });

    it('is parked also when it was answered, and waits for its next attempt', async () => {
      const run = await newRun();
      await lets(run, surviving('1'));
      await answer(run, yes());
      expect(await park(run)).toBe(true);
      expect((await takeAgain(run)).attempt).toBe(2);
      // The first attempt has nothing more to say.
      expect(await store.end(run, CANCELLED, keptAnswer())).toBeUndefined();
      expect(await park(run)).toBe(true);
      expect(await find(run)).toMatchObject({ status: 'running' });
    });

    it('can be ended', async () => {
      const run = await newRun();
      await lets(run, surviving('1'));
      await park(run);
      expect((await store.end(run, CANCELLED, keptAnswer()))?.run).toMatchObject({ status: 'cancelled' });
      expect(await park(run)).toBe(true);
    });
  });

  describe('the end of the process while a run asks', () => {
    it('changes nothing for a handler that can be called again', async () => {
      const run = await newRun();
      await store.append(run, textOf('before'));
      await lets(run, { ...surviving('1'), requests: [approval('a'), approval('b')] });
      await answer(run, yes('a'));
      const before = await logOf(run);
      await restart();
      await restart();
      expect(await find(run)).toMatchObject({ status: 'input_required', attempt: 1, lastSeq: 3 });
      expect(await logOf(run)).toEqual(before);
      expect(await answer(run, yes('a'))).toMatchObject({ inputs: [] });
      await answer(run, yes('b'));
      const second = await takeAgain(run);
      expect(second.attempt).toBe(2);
      await finish(second);
    });

    it('does not count as a lost attempt', async () => {
      const run = await newRun();
      await lets(run, surviving('1'));
      await restart({ restarts: () => 1 });
      await answer(run, yes());
      await takeAgain(run);
      await restart({ restarts: () => 1 });
      expect((await takeAgain(run)).attempt).toBe(3);
      await restart({ restarts: () => 1 });
      await eventually(async () => (await find(run))?.status === 'failed');
    });

    it('after the answer, lets the run wait for its next attempt', async () => {
      const run = await newRun();
      await lets(run, surviving('1'));
      await answer(run, yes());
      await restart();
      expect((await takeAgain(run)).attempt).toBe(2);
    });

    it('ends a run as interrupted whose handler cannot be called again', async () => {
      const run = await newRun({ session: inSession('s') });
      await lets(run);
      await restart({ restarts: () => 9 });
      expect(await find(run)).toMatchObject({ end: { error: { code: 'interrupted' } } });
      expect((await store.inputs!.of(run))[0]!.resolved).toMatchObject({ outcome: 'cancelled' });
      expect(await codeOf(() => answer(run, yes()))).toBe('run_ended');
      expect(await take()).toEqual([]);
    });

    it('does not stop the time of a request', async () => {
      const run = await newRun();
      await lets(run, { ...surviving('1'), requests: [approval('a', { expiresInMs: 1 })] });
      await tick();
      await tick();
      await restart();
      await eventually(async () => (await find(run))?.status === 'waiting');
      expect((await takeAgain(run)).attempt).toBe(2);
    });
  });
}
