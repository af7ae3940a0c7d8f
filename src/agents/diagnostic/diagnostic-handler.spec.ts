import { contextOf } from '../../../test/support/handler-context.js';
import type { Envelope, HandlerAnswer } from '../../query/index.js';
import { diagnosticHandler } from './index.js';

const answerOf = async (kwargs: Record<string, unknown>, signal = new AbortController().signal) => {
  const answer: HandlerAnswer = await diagnosticHandler()({ parts: [], kwargs }, contextOf({ signal }));
  const envelopes: Envelope[] = [];
  for await (const envelope of answer as AsyncIterable<Envelope>) envelopes.push(envelope);
  return envelopes.map(({ data }) => data as { number: number; atMs: number; padding: string });
};

describe('The agent diagnostic', () => {
  it('numbers its events, and says when each was made', async () => {
    const events = await answerOf({ count: 3, intervalMs: 20, silenceMs: 50, paddingBytes: 4 });
    expect(events.map(({ number }) => number)).toEqual([1, 2, 3]);
    expect(events.map(({ padding }) => padding)).toEqual(['xxxx', 'xxxx', 'xxxx']);
    expect(events[0]!.atMs).toBeLessThanOrEqual(events[1]!.atMs);
    expect(events[1]!.atMs).toBeGreaterThanOrEqual(70);
    expect(events[2]!.atMs).toBeGreaterThanOrEqual(90);
  });

  it('has five events unless it is asked for others', async () => {
    expect(await answerOf({ intervalMs: 0, unknown: 1 })).toHaveLength(5);
  });

  it('ends at once when the run must stop', async () => {
    const stop = new AbortController();
    const answer = answerOf({ silenceMs: 600_000, count: 2, intervalMs: 0 }, stop.signal);
    setImmediate(() => stop.abort());
    expect(await answer).toHaveLength(1);
  });

  it.each([
    [{ count: 0 }, 'kwargs.count must be a whole number from 1 to 1000.'],
    [{ count: '5' }, 'kwargs.count must be a whole number from 1 to 1000.'],
    [{ intervalMs: 60_001 }, 'kwargs.intervalMs must be a whole number from 0 to 60000.'],
    [{ silenceMs: -1 }, 'kwargs.silenceMs must be a whole number from 0 to 600000.'],
    [{ paddingBytes: 65_537 }, 'kwargs.paddingBytes must be a whole number from 0 to 65536.'],
    [{ count: 1_000, intervalMs: 60_000 }, 'The answer would take longer than 600000 ms.'],
    [
      { count: 1_000, intervalMs: 0, paddingBytes: 2_000 },
      'The padding of all events together would have more than 1048576 bytes.',
    ],
  ])('refuses %j', async (kwargs, detail) => {
    await expect(answerOf(kwargs)).rejects.toMatchObject({ code: 'invalid_query', detail });
  });
});
