import type { Caller, Run } from '../caller.js';
import { promisesOf } from '../promise.js';
import { say } from '../script.js';
import { equal } from '../unmet.js';
import { refused } from './refusals.js';

type Metadata = Record<string, string>;

const EDITION = '2027-02';

/** As much as is accepted. */
const MOST = Object.fromEntries(
  Array.from({ length: 16 }, (_, n) => [`${n}`.padStart(64, 'k'), 'v'.repeat(512)]),
);

/** Metadata with one fault, and the pointer to it. */
const FAULTS: [metadata: unknown, pointer: string][] = [
  ['text', '/metadata'],
  [{ ...MOST, more: '' }, '/metadata'],
  [{ ['k'.repeat(65)]: '' }, `/metadata/${'k'.repeat(65)}`],
  [{ a: 'v'.repeat(513) }, '/metadata/a'],
  [{ a: 1 }, '/metadata/a'],
];

const REFUSED = promisesOf(
  'stream',
  {
    'problem-metadata': [
      '2.16',
      'metadata has at most 16 keys of 64 characters, with strings of at most 512; else it is 400, with a JSON Pointer to it.',
      async (caller) => {
        await (await caller.ask([say('a')], { metadata: MOST })).whole();
        for (const [metadata, pointer] of FAULTS) {
          const reply = await caller.submit([say('a')], { metadata });
          const { errors = [] } = await refused(reply, 400, 'invalid_query', pointer);
          equal(
            'the pointers',
            errors.map((error) => error.pointer),
            [pointer],
          );
        }
      },
    ],
  },
  EDITION,
);

const OF_RUNS = promisesOf(
  'runs',
  {
    metadata: [
      '2.16',
      'A run returns the metadata of its query as it was sent.',
      async (caller) => {
        const metadata = { token: caller.token, 'key é.$[]': '', constructor: '你好 🌍' };
        const { path } = await run(caller, metadata);
        equal('the metadata', (await caller.run(path)).metadata, metadata);
      },
    ],
    'retry-metadata': [
      '2.16',
      'A used Idempotency-Key with other metadata is 422 idempotency_conflict.',
      async (caller) => {
        const headers = { 'idempotency-key': caller.name('key') };
        const ask = (metadata: Metadata) => caller.submit([say('a')], { headers, metadata });
        const first = await (await ask({ a: '1', b: '2' })).envelopes();
        const again = await (await ask({ b: '2', a: '1' })).envelopes();
        equal('the answer to the same metadata', again, first);
        await refused(await ask({ a: '1', b: '3' }), 422, 'idempotency_conflict');
      },
    ],
  },
  EDITION,
);

export const METADATA = [...REFUSED, ...OF_RUNS];

export const LISTS_BY_METADATA = promisesOf(
  'lists',
  {
    metadata: [
      '2.16',
      'Parameters metadata.key select the runs whose metadata has all these entries.',
      async (caller) => {
        const { token } = caller;
        const [one, two] = [
          await run(caller, { token, team: 'a', stage: '1' }),
          await run(caller, { token, team: 'b', stage: '1' }),
        ];
        for (const [others, ids] of [
          ['', [two.id, one.id]],
          ['&metadata.stage=1&metadata.team=a', [one.id]],
          ['&metadata.stage=1&metadata.team=c', []],
          ['&metadata.other=1', []],
        ] as const) {
          const list = await caller.json<{ runs: Run[] }>(`${caller.path}?metadata.token=${token}${others}`);
          equal(
            `the runs with ${others}`,
            list.runs.map(({ id }) => id),
            ids,
          );
        }
      },
    ],
  },
  EDITION,
);

/** A run that has ended. */
async function run(caller: Caller, metadata: Metadata): Promise<{ id: string; path: string }> {
  const reply = await caller.ask([say('a')], { metadata });
  await reply.whole();
  const path = caller.runPath(reply);
  return { id: path.split('/').at(-1)!, path };
}
