import { promisesOf } from '../promise.js';
import { message, say } from '../script.js';
import { equal, has } from '../unmet.js';

/** The step that emits a result. */
function result(value: unknown) {
  return { emit: { type: 'result', data: { value } } };
}

export const RESULT = promisesOf(
  'stream',
  {
    result: [
      '2.16',
      'A result arrives with the value that the agent has emitted, any JSON value.',
      async (caller) => {
        for (const value of [{ deep: [1, { er: null }], é$: '你好' }, [], 'text', -1.5, false, null]) {
          const step = result(value);
          equal('the envelopes', await caller.answer([say('a'), step, say('b')]), [
            message('a'),
            step.emit,
            message('b'),
          ]);
        }
      },
    ],
    'result-once': [
      '2.16',
      'A second result of a run does not arrive, and the run fails.',
      async (caller) => {
        const envelopes = await (await caller.ask([result(1), say('a'), result(2), say('b')])).envelopes();
        equal('what arrives', caller.emitted(envelopes), [result(1).emit, message('a')]);
        has('the end', envelopes.at(-1)!.data as object, { status: 'failed' });
      },
    ],
  },
  '2027-02',
);
