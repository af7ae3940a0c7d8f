import type { Run } from '../caller.js';
import { promisesOf } from '../promise.js';
import { say } from '../script.js';
import { equal, holds } from '../unmet.js';

export const CANCEL = promisesOf('runs', {
  cancel: [
    '2.4',
    'DELETE of a run is 200 with its JSON, and its stream ends with done, status cancelled.',
    async (caller) => {
      const reply = await caller.ask([say('a'), { hang: true }]);
      await reply.untilText('"a"');
      const cancelled = await caller.delete(caller.runPath(reply));
      equal('the status', cancelled.status, 200);
      equal('the status of the run', (await cancelled.json<Run>()).status, 'cancelled');
      const envelopes = await reply.envelopes();
      equal('the end', envelopes.at(-1), { type: 'done', data: { status: 'cancelled' } });
    },
  ],
  'cancel-stops': [
    '2.4',
    'When DELETE is answered with 200, the agent has really stopped.',
    async (caller) => {
      const stopped = caller.name('stopped');
      const reply = await caller.ask([{ markWhenStopped: stopped }, say('a'), { hang: true }]);
      await reply.untilText('"a"');
      const cancelled = await caller.delete(caller.runPath(reply));
      equal('the status', cancelled.status, 200);
      equal('how many agents have stopped', await caller.count(stopped), 1);
    },
  ],
  'cancel-ended': [
    '2.4',
    'DELETE of a run that has ended is 200, and changes nothing.',
    async (caller) => {
      const reply = await caller.ask([say('a')]);
      await reply.whole();
      const cancelled = await caller.delete(caller.runPath(reply));
      equal('the status', cancelled.status, 200);
      equal('the status of the run', (await cancelled.json<Run>()).status, 'completed');
    },
  ],
  leave: [
    '2.4',
    'A run that was started with Prefer: respond-async goes on when its followers leave.',
    async (caller) => {
      const end = caller.name('end');
      const options = { headers: { prefer: 'respond-async' } };
      const { headers } = await caller.submit([say('a'), { wait: end }, say('b')], options);
      const follower = await caller.follow(headers.location ?? '');
      await follower.untilText('"a"');
      follower.cut();
      await caller.mark(end);
      const frames = await (await caller.follow(headers.location ?? '')).frames();
      holds(
        frames.some(({ envelope }) => JSON.stringify(envelope).includes('"b"')),
        'the whole answer',
        frames,
      );
    },
  ],
});
