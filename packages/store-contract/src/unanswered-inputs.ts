import type { InputsResolved } from 'nest-agent-query';
import { answer, approval, asking, inputs, lets, resolvedOf, YES, yes } from './inputs.js';
import {
  CANCELLED,
  codeOf,
  eventually,
  find,
  inSession,
  keptAnswer,
  later,
  logOf,
  newRun,
  reopen,
  store,
  textOf,
  tick,
} from './opened-store.js';
import { describe, expect, it } from './runner.js';

/** What becomes of requests that nobody answers: their run ends, or they expire. */
export function describeUnansweredInputs(): void {
  describe('the end of a run that asks', () => {
    it('closes its requests, gives unanswered calls a result, and keeps the turn', async () => {
      const run = await newRun({ session: inSession('s') });
      await store.append(run, textOf('before'));
      await lets(run, asking(approval('a', { toolCallId: 'call' }), approval('b')));
      await answer(run, yes('b'));
      const ended = await store.end(run, CANCELLED, keptAnswer());
      expect(ended?.inputs?.map(({ request, resolved }) => [request.id, resolved?.outcome])).toEqual([
        ['a', 'cancelled'],
      ]);
      const log = await logOf(run, 3);
      expect(resolvedOf(log[0])).toMatchObject([{ id: 'a', outcome: 'cancelled', by: null }]);
      expect(JSON.parse(log[1]!)).toEqual({
        type: 'tool_result',
        data: { id: 'call', content: 'Not executed: the run was ended before the answer.', isError: true },
      });
      expect(JSON.parse(log[2]!)).toEqual({ type: 'done', data: CANCELLED });
      const page = await store.turns('anonymous', 's', { after: undefined, limit: 1 });
      expect(page?.turns[0]).toMatchObject({ text: 'before', end: CANCELLED });
      expect(page?.turns[0]?.envelopes.map(({ type }) => type)).toEqual([
        'message',
        'input_required',
        'input_resolved',
        'input_resolved',
        'tool_result',
      ]);
      expect(await codeOf(() => answer(run, yes('a')))).toBe('run_ended');
    });

    it('comes also if it is decided while the run begins to ask', async () => {
      const run = await newRun({ session: inSession('s') });
      const asked = lets(run);
      const ended = store.end(run, CANCELLED, keptAnswer());
      await asked;
      expect(await ended).toMatchObject({ run: { status: 'cancelled' } });
      expect((await inputs(run))[0]!.resolved).toMatchObject({ outcome: 'cancelled' });
      expect(await find(run)).toMatchObject({ status: 'cancelled', lastSeq: 3 });
    });

    it('keeps what was emitted before, also if all was answered and the run waits', async () => {
      const run = await newRun({ session: inSession('s') });
      await store.append(run, textOf('before'));
      await lets(run);
      await answer(run, yes());
      expect(await store.end(run, CANCELLED, keptAnswer())).toMatchObject({ run: { status: 'cancelled' } });
      const page = await store.turns('anonymous', 's', { after: undefined, limit: 1 });
      expect(page?.turns[0]).toMatchObject({ text: 'before' });
    });
  });

  describe('a request that expires', () => {
    const expiring = async (onExpire: 'decline' | 'fail' | { value: unknown }) => {
      const told: InputsResolved[] = [];
      await reopen({}, { resolved: (resolved) => void told.push(resolved) });
      const run = await newRun({ session: inSession('s') });
      await lets(run, asking(approval('a', { expiresInMs: 1, onExpire }), approval('b')));
      await tick();
      await tick();
      return { run, told };
    };

    it('is refused an answer, and the run goes on when the others are resolved', async () => {
      const { run, told } = await expiring('decline');
      expect(await codeOf(() => answer(run, yes('a')))).toBe('input_expired');
      await later(1);
      await eventually(() => told.length > 0);
      expect(told[0]).toMatchObject({ run: { id: run.id, status: 'input_required' }, isReady: false });
      expect(resolvedOf((await logOf(run))[1])).toMatchObject([{ id: 'a', outcome: 'expired', by: null }]);
      expect(await answer(run, yes('b'))).toMatchObject({ isReady: true });
      expect(await find(run)).toMatchObject({ status: 'waiting', detached: true });
    });

    it('has the value that it was given', async () => {
      const { run, told } = await expiring({ value: YES });
      await eventually(() => told.length > 0);
      expect((await inputs(run))[0]!.resolved).toMatchObject({ outcome: 'expired', value: YES });
    });

    it('ends the run, if it says so', async () => {
      const { run, told } = await expiring('fail');
      await eventually(() => told.length > 0);
      expect(told[0]).toMatchObject({ run: { status: 'failed' } });
      expect(await find(run)).toMatchObject({ end: { status: 'failed', error: { code: 'input_expired' } } });
      expect(resolvedOf((await logOf(run))[1])).toMatchObject([
        { id: 'a', outcome: 'expired' },
        { id: 'b', outcome: 'cancelled' },
      ]);
      expect(await codeOf(() => answer(run, yes('b')))).toBe('run_ended');
    });
  });
}
