import { promisesOf } from '../promise.js';
import type { Step } from '../script.js';
import { equal, has } from '../unmet.js';

interface UsageList {
  usage: { inputTokens: number }[];
  next: string | null;
}

export const USAGE = promisesOf(
  'lists',
  {
    usage: [
      '2.16',
      'GET of …/usage adds up the usage envelopes of the caller by day, model or session, as soon as they are in the log.',
      async (caller) => {
        const [session, model] = [caller.name('session'), caller.name('model')];
        const use = (inputTokens: number, outputTokens: number): Step => {
          return { emit: { type: 'usage', data: { inputTokens, outputTokens, model } } };
        };
        const kwargs = { session_id: session };
        await caller.answer([use(1, 2), use(10, 20)], { kwargs });
        await caller.answer([use(100, 200)], { kwargs });
        const sums = (by: string) =>
          caller.json<UsageList>(`${caller.path}/usage?by=${by}&session=${session}`);
        const counts = { runs: 2, inputTokens: 111, outputTokens: 222 };
        for (const [by, of] of [
          ['session', session],
          ['model', model],
        ] as const) {
          const { usage, next } = await sums(by);
          equal(`the number of sums by ${by}, and next`, [usage.length, next], [1, null]);
          has(`the sum by ${by}`, usage[0]!, { [by]: of, ...counts });
        }
        // The checks may be executed at midnight.
        const days = (await sums('day')).usage;
        equal(
          'the input tokens of all days',
          days.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
          111,
        );
      },
    ],
  },
  '2027-02',
);
