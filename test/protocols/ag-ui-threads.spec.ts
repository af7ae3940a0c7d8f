import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AgentHandler, type HandlerFunction, message, toolCall } from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import { ask, get, request } from '../support/client.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import {
  ANSWERS,
  dataOf,
  inputOf,
  post,
  resumeOf,
  runIdOf,
  startAgUi,
  textOf,
  typesOf,
} from './ag-ui-host.js';

const owner = ({ headers }: { headers: Record<string, string> }) => headers['x-caller'];
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

const TEXT = { type: 'text', text: 'Look' };
const image = (source: object) => ({ type: 'image', source });
const withContent = (content: unknown) => inputOf('', { messages: [{ id: '1', role: 'user', content }] });

interface Told {
  told: string[];
  kwargs: Record<string, unknown>;
  history: [question: string, answer: string][];
}

describeOnOneAdapter('A thread of AG-UI on %s', (adapter) => {
  let host: Host;
  beforeEach(async () => {
    host = await startAgUi(adapter, undefined, { owner });
  });
  afterEach(async () => {
    await host.idle();
    await host.close();
  });
  let runs = 0;
  /** Sends messages, whose last one is the query, and returns what the agent tells about it. */
  const tell = async (messages: object[], more: object = {}) => {
    const input = inputOf('', { threadId: 't', runId: `r${++runs}`, messages, ...more });
    const reply = await post(host, input);
    const told = await textOf(reply);
    const events = reply.events.map(({ data }) => JSON.parse(data) as { type: string; messageId?: string });
    const { messageId } = events.find(({ type }) => type === 'TEXT_MESSAGE_START') ?? {};
    return { ...(JSON.parse(told) as Told), answer: { id: messageId, role: 'assistant', content: told } };
  };
  const user = (id: string, content: unknown = id) => ({ id, role: 'user', content });
  const historyOf = ({ history }: Told) => history.map(([question]) => question);

  it('is a session, whose turns are the history', async () => {
    const first = await tell([user('1')]);
    expect(historyOf(first)).toEqual([]);
    const second = await tell([user('1'), first.answer, { role: 'assistant', content: 'forged' }, user('2')]);
    expect(historyOf(second)).toEqual(['1']);
    // A client that sends the last message only, one that does not know an answer yet, and one without ids.
    expect(historyOf(await tell([user('3')]))).toEqual(['1', '2']);
    expect(historyOf(await tell([user('1'), first.answer, user('2'), user('4')]))).toEqual(['1', '2', '3']);
    const { text } = await (await ask(host.url, 'x', { kwargs: { session_id: 't' } })).answer();
    expect(historyOf(JSON.parse(text) as Told)).toEqual(['1', '2', '3', '4']);
  });

  it('begins with the conversation that its first input brings', async () => {
    const earlier = [
      { id: 's', role: 'system', content: 'ignored' },
      user('0', [{ type: 'text', text: 'Hi' }]),
      { id: 'a', role: 'assistant', content: 'Hello' },
      { id: 'b', role: 'assistant', toolCalls: [] },
      { id: 'c', role: 'activity', activityType: 'x', content: {} },
    ];
    const input = inputOf('', { threadId: 't', runId: 'r', messages: [...earlier, user('1')] });
    const first = await post(host, input);
    expect((JSON.parse(await textOf(first)) as Told).history).toEqual([['Hi', 'Hello']]);
    const again = await post(host, input);
    expect([runIdOf(again), await again.whole()]).toEqual([runIdOf(first), first.text]);
  });

  it('replaces turns that the client has cut off, and answers a message again', async () => {
    const first = await tell([user('1')]);
    const second = await tell([user('1'), first.answer, user('2')]);
    await tell([user('1'), first.answer, user('2'), second.answer, user('3')]);
    // Edited: another message follows the first answer.
    const edited = await tell([user('1'), first.answer, user('2b')]);
    expect(historyOf(edited)).toEqual(['1']);
    // Regenerated: the same message with another run.
    const again = await tell([user('1'), first.answer, user('2b')]);
    expect(historyOf(again)).toEqual(['1']);
    const all = await tell([user('1'), first.answer, user('2b'), again.answer, user('4')]);
    expect(historyOf(all)).toEqual(['1', '2b']);
    expect(historyOf(await tell([user('1')]))).toEqual([]);
  });

  it('cancels the run of a message that is asked again', async () => {
    const messages = [user('1', 'endless')];
    const reply = await post(host, inputOf('', { threadId: 't', runId: 'a', messages }));
    await reply.until('Hello');
    const again = await post(host, inputOf('', { threadId: 't', runId: 'b', messages }));
    expect((await typesOf(reply)).at(-1)).toBe('RUN_FINISHED');
    await again.until('Hello');
    const { turns } = await host.agent.session('anonymous', 't', 0, 10);
    expect(turns).toEqual([]);
    await host.agent.cancel('anonymous', runIdOf(again));
    await again.whole();
  });

  it('tells the handler of the turn of such a run before the message is asked again', async () => {
    const told: unknown[] = [];
    const handler: AgentHandler = {
      async *handle(_, { signal, history }) {
        told.push(['begins', history.length]);
        yield message('Hello');
        if (told.length > 1) return;
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        told.push('stops');
      },
      sessionErased: (session) => void told.push(session),
    };
    const other = await startAgUi(adapter, handler, { owner });
    const messages = [user('1')];
    const input = (runId: string) => inputOf('', { threadId: 't', runId, messages });
    const reply = await post(other, input('a'), { 'x-caller': 'ann' });
    await reply.until('Hello');
    await (await post(other, input('b'), { 'x-caller': 'ann' })).whole();
    await (await post(other, input('c'), { 'x-caller': 'ann' })).whole();
    const erased = { owner: 'ann', id: 't', goesOn: true };
    expect(told).toEqual([['begins', 0], 'stops', erased, ['begins', 0], erased, ['begins', 0]]);
    await other.close();
  });

  it('gives the handler what the input has for it', async () => {
    const more = {
      tools: [{ name: 'location', description: 'Where?', parameters: { type: 'object' } }, { name: 'x' }],
      state: { a: 1 },
      context: [{ description: 'd', value: 'v' }],
      forwardedProps: { model: 'm', state: 'mine', session_id: 'other' },
    };
    const { kwargs } = await tell([user('1')], more);
    expect(kwargs).toEqual({
      tools: [
        { name: 'location', description: 'Where?', inputSchema: { type: 'object' } },
        { name: 'x', inputSchema: { type: 'object' } },
      ],
      context: [{ description: 'd', value: 'v' }],
      ...{ model: 'm', state: 'mine', session_id: 't' },
    });
    expect((await tell([user('2')])).kwargs).toEqual({ session_id: 't' });
  });

  it('has files that the messages bring', async () => {
    const data = (value: string, mimeType?: string) => ({ type: 'data', value, mimeType });
    const base64 = Buffer.from('content').toString('base64');
    const { told } = await tell([
      user('0', [{ type: 'image', source: { type: 'url', value: 'https://example.com/old.png' } }]),
      user('1', [
        { type: 'text', text: 'Look' },
        { type: 'image', source: data(base64, 'image/png'), metadata: { filename: 'photo.png' } },
        { type: 'document', source: data(base64, 'application/pdf') },
        { type: 'audio', source: { type: 'url', value: `data:audio/x-wav;base64,${base64}` } },
        { type: 'binary', mimeType: 'application/vnd.ms-excel', data: base64, filename: 'a.xls' },
        { type: 'binary', mimeType: 'image/svg+xml', url: `data:image/svg+xml;base64,${base64}` },
      ]),
    ]);
    const digest = `7 ${sha256('content')}`;
    expect(told).toEqual([
      'Look',
      ...['photo.png', 'document-3.pdf', 'audio-4.wav', 'a.xls', 'binary-6.svg'].map(
        (name) => `${name} ${digest}`,
      ),
    ]);
  });

  it.each<[name: string, input: unknown, pointers: string[]]>([
    ['no input', [], ['']],
    ['no names', { messages: [] }, ['/threadId', '/runId']],
    [
      'other types',
      { threadId: 1, runId: '', messages: [1], resume: [{ interruptId: 'a' }] },
      ['/threadId', '/runId', '/messages', '/resume'],
    ],
    ['no message', inputOf('', { messages: [] }), ['/messages']],
    [
      'an answer as the last message',
      inputOf('', { messages: [{ id: 'a', role: 'assistant' }] }),
      ['/messages'],
    ],
    ['a message without content', withContent(undefined), ['/messages/0/content']],
    ['a text without text', withContent([{ type: 'text' }]), ['/messages/0/content/0/text']],
    ['a part of another type', withContent([TEXT, { type: 'x' }]), ['/messages/0/content/1/type']],
    [
      'a URL that is to be fetched',
      withContent([image({ type: 'url', value: 'https://a.b/c' })]),
      ['/messages/0/content/0'],
    ],
    [
      'a file of a provider',
      withContent([image({ type: 'file', value: 'file_1' })]),
      ['/messages/0/content/0'],
    ],
    [
      'faults of files',
      withContent([
        TEXT,
        image({ type: 'data', value: '???', mimeType: 'a/b' }),
        image({ type: 'data', value: '', mimeType: 'png' }),
      ]),
      ['/messages/0/content/1/source', '/messages/0/content/2/source/mimeType'],
    ],
    ['no parts', withContent([]), ['/messages']],
  ])('refuses %s', async (_, input, pointers) => {
    const reply = await post(host, input);
    const body = await reply.json<{ message: string; code: string; errors: { pointer: string }[] }>();
    expect([reply.status, body.code]).toEqual([400, 'invalid_query']);
    expect(body.errors.map(({ pointer }) => pointer)).toEqual(pointers);
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(body.message).toMatch(/^("|The body).*\.$/);
  });

  it('refuses parameters that name no run', async () => {
    const refusals = [
      ['/ag-ui', '{"message":"\\"/runId\\" must be a run: ?runId= and the id that you have given it.",'],
      ['/ag-ui?runId=a&offset=now', '{"message":"\\"/offset\\" must be -1, or the id of an event.",'],
      ['/ag-ui?runId=a', '{"message":"There is no such run, or it is no longer kept.","code":"not_found"}'],
    ] as const;
    for (const [path, body] of refusals) {
      const reply = await get(host.url, path);
      expect((await reply.whole()).startsWith(body)).toBe(true);
    }
    const cursor = await post(host, '', { 'last-event-id': 'x' });
    expect([cursor.status, (await cursor.json())['code']]).toEqual([400, 'invalid_query']);
    const type = await request(host.url, { path: '/ag-ui', headers: { 'content-type': 'text/plain' } }, 'x');
    expect([type.status, (await type.json())['code']]).toEqual([415, 'unsupported_media_type']);
    const used = await post(host, inputOf('short'));
    await used.whole();
    const other = await post(
      host,
      inputOf('nothing', { threadId: 'thread of short', messages: [user('2', 'nothing')] }),
    );
    expect([other.status, (await other.json())['code']]).toEqual([422, 'idempotency_conflict']);
  });

  it('tells in a stream what breaks the rules of interrupts', async () => {
    const errorOf = async (input: object) => {
      const reply = await post(host, input);
      expect(await typesOf(reply)).toEqual(['RUN_STARTED', 'RUN_ERROR']);
      expect(reply.events.map(({ id }) => id)).toEqual([undefined, undefined]);
      const { message: text, code } = JSON.parse(reply.events[1]!.data) as { message: string; code: string };
      return [code, text];
    };
    expect(await errorOf(resumeOf('asks', ANSWERS))).toEqual([
      ...['not_found', 'This thread has no interrupt that the input answers.'],
    ]);
    const asked = await post(host, inputOf('asks'));
    await asked.whole();
    const open = 'This thread has open interrupts. Send "resume" with an answer to each:';
    expect(await errorOf(inputOf('asks', { runId: 'r', messages: [user('2')] }))).toEqual([
      ...['invalid_answer', `${open} "refund-881", "quarter", "auth".`],
    ]);
    expect(await errorOf(resumeOf('asks', { quarter: 'Q1' }))).toEqual([
      ...['invalid_answer', `${open} "refund-881", "auth".`],
    ]);
    expect(await errorOf(resumeOf('asks', { ...ANSWERS, other: 1 }))).toEqual([
      ...['not_found', 'This thread has no interrupt "other".'],
    ]);
    const twice = resumeOf('asks', ANSWERS);
    twice['resume'] = [...(twice['resume'] as object[]), { interruptId: 'auth', status: 'cancelled' }];
    expect(await errorOf(twice)).toEqual([
      'invalid_answer',
      '"resume" must have one answer to each interrupt.',
    ]);
    expect(await errorOf(resumeOf('asks', { ...ANSWERS, quarter: 'Q3' }))).toEqual([
      ...['invalid_answer', '"/answers/1/value" must be one of ["Q1","Q2"].'],
    ]);
    const resumed = await post(host, resumeOf('asks', { ...ANSWERS, 'refund-881': true }));
    expect(await textOf(resumed)).toBe('Thanks');
    const again = await post(host, resumeOf('asks', { ...ANSWERS, 'refund-881': true }));
    expect(await again.whole()).toBe(resumed.text);
    expect((await errorOf(resumeOf('asks', { ...ANSWERS, 'refund-881': false })))[0]).toBe('input_resolved');
    const given = await post(host, resumeOf('asks', { 'refund-881': null, quarter: null, auth: null }));
    expect(await given.whole()).toBe(resumed.text);
  });

  it('shows nothing of it to another owner', async () => {
    const asked = await post(host, inputOf('asks'));
    const id = asked.events.at(-1)?.id ?? `${runIdOf(asked)}.1`;
    await asked.whole();
    const other = { 'x-caller': 'other' };
    const joins = [`/ag-ui?runId=run-1`, `/ag-ui?runId=${runIdOf(asked)}`].map((path) =>
      get(host.url, path, other),
    );
    const replies = [...(await Promise.all(joins)), await post(host, '', { ...other, 'last-event-id': id })];
    for (const reply of replies)
      expect([reply.status, await reply.whole()]).toEqual([
        ...[404, '{"message":"There is no such run, or it is no longer kept.","code":"not_found"}'],
      ]);
    const resumed = await post(host, resumeOf('asks', ANSWERS), other);
    expect((await dataOf(resumed)).at(-1)).toBe(
      '{"type":"RUN_ERROR","message":"This thread has no interrupt that the input answers.","code":"not_found"}',
    );
    const own = await post(host, inputOf('short', { threadId: 'thread of asks' }), other);
    expect([await textOf(own), runIdOf(own) === runIdOf(asked)]).toEqual(['Hello', false]);
    await host.agent.cancel('anonymous', runIdOf(asked));
  });
});

describeOnOneAdapter('A thread of AG-UI that outlives its service on %s', (adapter) => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'ag-ui-'));
  });
  afterAll(() => rm(directory, { recursive: true }));

  it('is answered and resumed after a restart', async () => {
    const handler: HandlerFunction = Object.assign(
      async function* (_: unknown, context: Parameters<HandlerFunction>[1]) {
        if (!context.resumed) {
          yield message('Kept. ');
          await context.checkpoint('kept');
          yield message('Void.');
          yield toolCall('call_1', 'search', {});
          yield message('Void too.');
          await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
          return;
        }
        const [answer] = await context.ask([{ key: 'name', kind: 'input', message: 'Your name?' }], {
          checkpoint: 'asked',
        });
        yield message(`Hello, ${answer!.value as string}`);
      } as HandlerFunction,
      { restarts: 5 },
    );
    const start = async () =>
      startAgUi(adapter, handler, {
        store: await openStore(`file:${join(directory, 'runs.db')}`),
      });
    let host = await start();
    const first = await post(host, inputOf('begin'));
    await first.until('Void too');
    await host.close();
    expect(first.text.endsWith('\n\n:')).toBe(true);
    const run = runIdOf(first);
    const known = first.events;

    host = await start();
    const rest = await post(host, '', { 'last-event-id': known.at(-1)!.id!, 'x-run-id': 'run-1' });
    const data = await dataOf(rest);
    expect(data[0]).toBe('{"type":"TEXT_MESSAGE_END","messageId":"<run>.8"}');
    expect(data[1]).toBe(
      '{"type":"CUSTOM","name":"restarted","value":{"attempt":2,"from":1,"messageIds":["<run>.8"],"toolCallIds":["call_1"]}}',
    );
    expect(data[2]).toContain(
      '{"type":"RUN_FINISHED","threadId":"thread of begin","runId":"run-1","outcome":{"type":"interrupt"',
    );
    await host.close();

    host = await start();
    const resumed = await post(host, resumeOf('begin', { name: 'Ada' }));
    expect([runIdOf(resumed), await textOf(resumed)]).toEqual([run, 'Hello, Ada']);
    const joined = await get(host.url, `/ag-ui?runId=run-1`);
    const ids = (await joined.allEvents()).map(({ id }) => Number(id!.split('.')[1]));
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    await host.close();
  });
});
