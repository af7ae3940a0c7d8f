import { FULL } from '../caller.js';
import { promisesOf } from '../promise.js';
import { message, say } from '../script.js';
import { equal } from '../unmet.js';
import { refused } from './refusals.js';
import { FOUR } from './runs.js';

export const RETRIES = promisesOf('runs', {
  retry: [
    '2.4',
    'POST with an Idempotency-Key that was used follows its run from the beginning; the agent is not asked again.',
    async (caller) => {
      const [mark, key] = [caller.name('execution'), caller.name('key')];
      const ask = () => caller.ask([{ mark }, ...FOUR], { headers: { ...FULL, 'idempotency-key': key } });
      const first = await (await ask()).frames();
      equal('the second stream', await (await ask()).frames(), first);
      equal('how often the agent was asked', await caller.count(mark), 1);
    },
  ],
  'retry-live': [
    '2.4',
    'Retries with one Idempotency-Key at the same time are one run.',
    async (caller) => {
      const [mark, end, key] = [caller.name('execution'), caller.name('end'), caller.name('key')];
      const script = [{ mark }, say('a'), { wait: end }, say('b')];
      const ask = () => caller.ask(script, { headers: { ...FULL, 'idempotency-key': key } });
      const replies = await Promise.all([ask(), ask(), ask(), ask()]);
      await caller.mark(end);
      const [first, ...others] = await Promise.all(replies.map((reply) => reply.frames()));
      for (const other of others) equal('what a retry gets', other, first);
      equal('how often the agent was asked', await caller.count(mark), 1);
    },
  ],
  'retry-cursor': [
    '2.4',
    'POST with a used Idempotency-Key and Last-Event-ID follows from that cursor.',
    async (caller) => {
      const headers = { ...FULL, 'idempotency-key': caller.name('key') };
      const frames = await caller.fullAnswer(FOUR, { headers });
      const again = await caller.fullAnswer(FOUR, {
        headers: { ...headers, 'last-event-id': frames[1]!.id! },
      });
      equal('the rest', again, frames.slice(2));
    },
  ],
  'retry-same': [
    '2.4',
    'White space and the order of members do not make another query of a repeated one.',
    async (caller) => {
      const headers = { ...FULL, 'idempotency-key': caller.name('key') };
      const script = JSON.stringify(JSON.stringify([say('a')]));
      const send = async (body: string) => (await caller.send({ body, headers })).frames();
      const first = await send(`{"parts":[{"type":"text","text":${script}}],"kwargs":{"a":1,"b":2}}`);
      const again = await send(`{ "kwargs":{"b":2, "a":1},\n"parts":[{"text":${script},"type":"text"}]}`);
      equal('the messages', caller.emitted(first.map(({ envelope }) => envelope)), [message('a')]);
      equal('the second stream', again, first);
    },
  ],
  'retry-key': [
    '2.4',
    'An Idempotency-Key that is longer than 255 characters is 400.',
    async (caller) => {
      const headers = { 'idempotency-key': 'k'.repeat(256) };
      await refused(await caller.submit([say('a')], { headers }), 400, 'invalid_query');
    },
  ],
  'retry-other': [
    '2.3',
    'A used Idempotency-Key with another query is 422 idempotency_conflict.',
    async (caller) => {
      const headers = { 'idempotency-key': caller.name('key') };
      await (await caller.ask([say('a')], { headers })).whole();
      for (const kwargs of [undefined, { more: 1 }]) {
        const steps = [say(kwargs ? 'a' : 'b')];
        await refused(
          await caller.submit(steps, { headers, kwargs: kwargs ?? null }),
          422,
          'idempotency_conflict',
        );
      }
    },
  ],
});
