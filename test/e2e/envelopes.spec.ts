import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AgentQueryClient } from 'nest-agent-query-client';
import {
  type HandlerFunction,
  log,
  MemoryRunStore,
  message,
  progress,
  reasoning,
  result,
  type RunStore,
  type SessionPage,
  source,
  suggestions,
  toolCall,
  toolResult,
  type Turn,
  usage,
} from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import { promise } from '../promises.js';
import { ask, get } from '../support/client.js';
import { type Host, ONE_ADAPTER, startAgent } from '../support/host.js';
import { STORE_KINDS, type StoreKind } from '../support/long-form.js';
import { openDatabase, type TestDatabase } from '../support/postgres.js';

/** The answer of an agent that calls a tool in the middle of its text. */
const ANSWER = [
  reasoning('The weather ', { id: 'r1' }),
  reasoning('is needed.', { id: 'r1' }),
  message('Let me '),
  log('calling'),
  message('look.'),
  progress(1, { total: 2, unit: 'steps', label: 'Looking' }),
  toolCall('c1', 'weather', { city: 'Paris' }),
  toolResult('c1', { celsius: 21 }, { isError: false }),
  source('https://weather.example', { title: 'Weather' }),
  message('21 ', { id: 'm2' }),
  message('degrees.', { id: 'm2' }),
  usage({ inputTokens: 5, outputTokens: 7, model: 'm' }),
  { type: 'usage', data: { inputTokens: 1, outputTokens: 0, cost: 0.5 } },
  suggestions([{ text: 'and tomorrow?', label: 'Tomorrow' }]),
  result({ celsius: [21], rain: null }),
  { type: 'chart', data: [1] },
];

/** What the turn keeps of it. */
const KEPT = [
  reasoning('The weather is needed.', { id: 'r1' }),
  message('Let me look.'),
  ...ANSWER.slice(6, 9),
  message('21 degrees.', { id: 'm2' }),
  ...ANSWER.slice(11, 15),
];

const LONG = 'x'.repeat(300 * 1024);

const SUGGESTED = suggestions([
  { text: 'describe', files: [{ name: 'a.csv', mimeType: 'text/csv', base64: 'YQo=' }] },
  { text: 'how many rows', label: 'Count the rows' },
]);

/** The answers by the text of the question. */
const ANSWERS: Record<string, unknown[]> = {
  all: ANSWER,
  twice: [result(null), message('Hi'), result(1)],
  unshaped: [{ type: 'result', data: {} }],
  void: [toolCall('1', 'void'), 'no envelope'],
  suggestions: [SUGGESTED],
  bare: [{ type: 'suggestions', data: { items: [] } }],
  long: [message('a'), ...[1, 2, 3, 4].map((id) => toolResult(`${id}`, LONG)), message('b')],
};

let postgres: TestDatabase;
let directory: string;
let opened = 0;
beforeAll(async () => {
  postgres = await openDatabase();
  directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-envelopes-'));
});
afterAll(async () => {
  await postgres.close();
  await rm(directory, { recursive: true });
});

/** The stores, each with what opens a new one. */
const STORES: Record<StoreKind, () => Promise<RunStore>> = {
  memory: async () => new MemoryRunStore(),
  file: () => openStore(`file:${join(directory, `${++opened}.db`)}`),
  postgres: () => openStore(`${postgres.url}?schema=envelopes_${++opened}`),
};

describe.each(STORE_KINDS)('An agent that uses all standard types, with the store %s', (kind) => {
  let host: Host;
  let earlier: Turn[];
  beforeEach(async () => {
    const handler = async function* ({ parts }, { history }) {
      earlier = history;
      const [part] = parts;
      yield* ANSWERS[part!.type === 'text' ? part!.text : ''] as typeof ANSWER;
    } satisfies HandlerFunction;
    host = await startAgent(ONE_ADAPTER, handler, { store: await STORES[kind]() });
  });
  afterEach(async () => {
    await host.idle();
    await host.close();
  });
  const answerTo = async (question: string) =>
    (await ask(host.url, question, { kwargs: { session_id: 's' } })).allEnvelopes();
  const turns = async () => (await (await get(host.url, '/query/sessions/s')).json<SessionPage>()).turns;

  it(promise('stream.standard-types'), async () => {
    expect(await answerTo('all')).toEqual([...ANSWER, { type: 'done', data: { status: 'completed' } }]);
  });

  it(promise('stream.suggestions'), async () => {
    expect(await answerTo('suggestions')).toEqual([
      {
        type: 'suggestions',
        data: {
          items: [
            { text: 'describe', files: [{ name: 'a.csv', mimeType: 'text/csv', base64: 'YQo=' }] },
            { text: 'how many rows', label: 'Count the rows' },
          ],
        },
      },
      { type: 'done', data: { status: 'completed' } },
    ]);
    expect((await answerTo('bare')).at(-1)).toMatchObject({
      data: { status: 'failed', error: { code: 'invalid_envelope' } },
    });
    expect(await turns()).toMatchObject([{ text: '', envelopes: [SUGGESTED] }, { envelopes: [] }]);
  });

  it(promise('result.once'), async () => {
    const failed = (message: string) => ({
      type: 'done',
      data: { status: 'failed', error: { code: 'invalid_envelope', message } },
    });
    const begin = 'The agent emitted something that is not an envelope: ';
    expect(await answerTo('twice')).toEqual([
      { type: 'result', data: { value: null } },
      message('Hi'),
      failed(`${begin}it is a second \`result\`, and a run has one at most.`),
    ]);
    expect(await answerTo('unshaped')).toEqual([
      failed(`${begin}a \`result\` needs \`data.value\`, a value that JSON can represent.`),
    ]);
    expect(await turns()).toMatchObject([{ envelopes: [result(null), message('Hi')] }, { envelopes: [] }]);
  });

  it(promise('session.envelopes', 'for the handler and for callers'), async () => {
    await answerTo('all');
    await answerTo('void');
    expect(earlier).toMatchObject([{ text: 'Let me look.21 degrees.', envelopes: KEPT }]);
    const shown = await turns();
    expect(shown).toMatchObject([
      { text: 'Let me look.21 degrees.', envelopes: KEPT, end: { status: 'completed' } },
      { text: '', envelopes: [toolCall('1', 'void')], end: { error: { code: 'invalid_envelope' } } },
    ]);
    expect(earlier).toEqual([shown[0]]);
    expect(shown.some((turn) => 'envelopesTruncated' in turn)).toBe(false);
  });

  it(promise('session.envelopes-limit'), async () => {
    await answerTo('long');
    const [turn] = await turns();
    expect(turn).toMatchObject({ text: 'ab', envelopesTruncated: true });
    expect(turn!.envelopes).toEqual(ANSWERS['long']!.slice(0, 4));
  });
});

it.each(['file', 'postgres'] as const)(
  promise('result.once', 'also in the next attempt of a run, unless it is void, in %s'),
  async (store) => {
    const opened = store === 'file' ? `file:${join(directory, 'twice.db')}` : `${postgres.url}?schema=twice`;
    const entered: (() => void)[] = [];
    const handler = Object.assign(
      async function* ({ kwargs }, context) {
        const { resumed, signal } = context;
        yield result(resumed ? 'again' : 'first');
        if (resumed) return;
        if (kwargs['checkpoint'] === true) await context.checkpoint(1);
        entered.pop()!();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      } satisfies HandlerFunction,
      { restarts: 1 },
    );
    let host = await startAgent(ONE_ADAPTER, handler, { store: await openStore(opened) });
    const runIds: string[] = [];
    for (const checkpoint of [false, true]) {
      const isEntered = new Promise<void>((resolve) => entered.push(resolve));
      const reply = await ask(host.url, 'Hello', { kwargs: { checkpoint } });
      await isEntered;
      runIds.push(reply.runId);
      reply.cut();
    }
    await host.close();
    host = await startAgent(ONE_ADAPTER, handler, { store: await openStore(opened) });
    const client = new AgentQueryClient({ baseUrl: host.url });
    const [voided, kept] = await Promise.all(runIds.map((runId) => client.follow(runId).result<string>()));
    expect(voided).toMatchObject({ status: 'completed', value: 'again', envelopes: [result('again')] });
    expect(kept).toMatchObject({ status: 'failed', error: { code: 'invalid_envelope' }, value: 'first' });
    await host.idle();
    await host.close();
  },
);
