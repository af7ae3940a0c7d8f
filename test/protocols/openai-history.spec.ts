import { type HandlerFunction, message, reasoning, toolCall, toolResult } from '../../src/index.js';
import { request } from '../support/client.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { fetchAt, type Json, post, respond, startOpenAi } from './openai-host.js';

/** What the agent was told: the query, the turns before it, and the session. */
interface Told {
  query: string;
  history: [question: string, answer: string][];
  session: string | undefined;
}

const NOBODY = '00000000-0000-4000-8000-000000000000';
const IMAGE = `data:image/png;base64,${Buffer.from('abc').toString('base64')}`;

/** A message of the user, as the AI SDK sends it. */
const user = (text: string) => ({ role: 'user', content: [{ type: 'input_text', text }] });
const reference = (id: string) => ({ type: 'item_reference', id });
const references = ({ output }: Json) => output.map(({ id }) => reference(id));

describeOnOneAdapter('The history of a response of OpenAI on %s', (adapter) => {
  let host: Host;
  let told: Told[];
  let runs = 0;
  const assistant: HandlerFunction = async function* ({ parts }, { history, session, signal }) {
    const textOf = (all: typeof parts) =>
      all.map((part) => ('text' in part ? part.text : part.name)).join('|');
    const query = textOf(parts);
    const turns = history.map(({ parts: asked, text }): [string, string] => [textOf(asked as never), text]);
    told.push({ query, history: turns, session: session?.id });
    runs++;
    if (query === 'fail') throw new Error('secret');
    if (query === 'wait')
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    if (query !== 'tool') {
      yield message(`answer to ${query}`);
      return;
    }
    yield reasoning('Hm.');
    yield toolCall('c', 'lookup', { a: 1 });
    yield toolResult('c', 'found');
    yield message('looked up');
  };
  beforeAll(async () => {
    host = await startOpenAi(adapter, assistant, {
      owner: (caller) => (caller.headers['x-caller'] as string | undefined) ?? 'ann',
    });
  });
  beforeEach(() => {
    told = [];
    runs = 0;
  });
  afterAll(async () => {
    await host.idle();
    await host.close();
  });
  /** What the agent was told of an input. */
  const toldOf = async (input: unknown, body: object = {}): Promise<Told> => {
    await respond(host.url, input, body);
    return told.at(-1)!;
  };
  const refusalOf = async (input: unknown, body: object = {}, headers: object = {}) => {
    const reply = await post(host.url, 'responses', { input, ...body }, headers);
    expect(reply.status).toBe(400);
    return (await reply.json<{ error: { message: string; param: string } }>()).error;
  };

  it('is what references to items of its responses name, with each turn once', async () => {
    const first = await respond(host.url, [user('tool')]);
    expect(first.output.map(({ type }) => type)).toEqual(['reasoning', 'mcp_call', 'message']);
    const before = [user('tool'), ...references(first)];
    const second = await respond(host.url, [...before, user('two')]);
    await respond(host.url, [...before, user('two'), ...references(second), user('three')]);
    const session = told[0]!.session;
    const turns: Told['history'] = [
      ['tool', 'looked up'],
      ['two', 'answer to two'],
    ];
    expect(told).toEqual([
      { query: 'tool', history: [], session },
      { query: 'two', history: turns.slice(0, 1), session },
      { query: 'three', history: turns, session },
    ]);
  });

  it('goes on in a fork from the newest response that is named', async () => {
    const first = await respond(host.url, [user('one')]);
    const before = [user('one'), ...references(first)];
    const second = await respond(host.url, [...before, user('two')]);
    const other = await toldOf([...before, user('other')]);
    expect(other.history).toEqual([['one', 'answer to one']]);
    expect(other.session).not.toBe(told[0]!.session);
    const all = [...before, user('two'), ...references(second)];
    expect((await toldOf([...references(second), ...before, user('three')])).history).toHaveLength(2);
    const third = await toldOf([...all, user('three')], { previous_response_id: first.id });
    expect(third.history.map(([question]) => question)).toEqual(['one', 'two']);
    const fourth = await toldOf([...before, user('four')], { previous_response_id: second.id });
    expect(fourth.history.map(([question]) => question)).toEqual(['one', 'two']);
  });

  it('has items that come whole once, from their response if it is found', async () => {
    const first = await respond(host.url, 'one');
    const input = [user('one'), ...first.output, user('two')];
    const second = await toldOf(input);
    expect(second).toEqual({
      query: 'two',
      history: [['one', 'answer to one']],
      session: told[0]!.session,
    });
    const alone = await toldOf(input, { store: false });
    expect(alone).toEqual({ ...second, session: undefined });
    const strange = JSON.parse(
      JSON.stringify(input).replaceAll(/msg_[\da-f-]{36}/g, `msg_${NOBODY}`),
    ) as object;
    const texts = await toldOf(strange);
    expect(texts.history).toEqual(second.history);
    expect(texts.session).not.toBe(second.session);
    const unstored = await respond(host.url, 'one', { store: false });
    expect((await toldOf([user('one'), ...unstored.output, user('two')])).history).toEqual(second.history);
    // A text that the session does not have yet follows its turns.
    const more = [...input.slice(0, -1), user('x'), { role: 'assistant', content: 'y' }, user('two')];
    expect((await toldOf(more)).history).toEqual([...second.history, ['x', 'y']]);
  });

  it('is that of a reference also for a response that is not stored, or that names no session', async () => {
    const input = [user('one'), ...references(await respond(host.url, 'one')), user('two')];
    const [{ session }] = told as [Told];
    for (const body of [{ store: false }, { kwargs: { session_id: '' } }, { kwargs: { session_id: null } }])
      expect((await toldOf(input, body)).history).toEqual([['one', 'answer to one']]);
    expect(told[1]!.session).toBe(session);
    const wrong = await refusalOf(input, { kwargs: { session_id: 1 } });
    expect(wrong).toMatchObject({ param: 'kwargs.session_id' });
  });

  it('ends with what stands for the assistant or a tool, and has the texts before that', async () => {
    const call = { call_id: 'call_1', name: 'f', arguments: '{}' };
    const items = [
      { type: 'reasoning', id: 'rs_1', summary: [] },
      { type: 'function_call', ...call },
      { type: 'function_call_output', call_id: 'call_1', output: 'x' },
      { type: 'custom_tool_call', call_id: 'call_1', name: 'f', input: '' },
      { type: 'custom_tool_call_output', call_id: 'call_1', output: '' },
      { type: 'mcp_call', id: 'mcp_1', server_label: 's', name: 'f', arguments: '{}' },
      { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 's', tools: [] },
      { type: 'mcp_approval_request', id: 'mcpr_1', server_label: 's', name: 'f', arguments: '{}' },
      { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true },
      { type: 'file_search_call', id: 'fs_1', queries: [], status: 'completed' },
      { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      { type: 'computer_call_output', call_id: 'call_1', output: {} },
      { type: 'compaction', encrypted_content: '' },
      { role: 'assistant', content: '' },
    ];
    for (const item of items) {
      const { query, history } = await toldOf([user('one'), item, user('two'), user('three')]);
      expect([item, query, history]).toEqual([item, 'two|three', [['one', '']]]);
    }
  });

  it('has files of earlier messages only where no response has them', async () => {
    const sent = { role: 'user', content: [{ type: 'input_image', image_url: IMAGE }] };
    const first = await respond(host.url, [sent]);
    expect(await toldOf([sent, ...references(first), user('two')])).toMatchObject({
      query: 'two',
      history: [['image.png', 'answer to image.png']],
    });
    const { query } = await toldOf([sent, { role: 'assistant', content: 'An image.' }, user('two')]);
    expect(query).toBe('image.png|two');
  });

  it('is not known to others, who get the answer for an id that nobody has', async () => {
    const first = await respond(host.url, 'one');
    const { id } = first.output[0]!;
    const message =
      '"input[1].id" is the id of no item of your responses, or of one that is no longer kept: ' +
      'send the item itself, with "store": false.';
    const error = { message, type: 'invalid_request_error', param: 'input[1].id', code: 'invalid_query' };
    const bob = { 'x-caller': 'bob' };
    expect(await refusalOf([user('one'), reference(id), user('two')], {}, bob)).toEqual(error);
    const unknown = [
      `msg_${NOBODY}_0`,
      'msg_1',
      first.id,
      `resp_${NOBODY}`,
      id.replace('msg_', 'x_'),
      id.replace(/_0$/, ''),
      `msg_${'f'.repeat(100_000)}`,
      '',
    ];
    for (const each of unknown)
      expect(await refusalOf([user('one'), reference(each), user('two')])).toEqual(error);
    // Of the same owner, after one that is known.
    const last = [reference(`msg_${NOBODY}_0`), reference(id), user('two')];
    expect(await refusalOf([user('one'), ...last])).toEqual(error);
    const whole = await respond(host.url, [user('one'), ...first.output, user('two')], {}, bob);
    expect(whole['status']).toBe('completed');
    expect(told.at(-1)!.history).toEqual([['one', 'answer to one']]);
    expect(told.at(-1)!.session).not.toBe(told[0]!.session);
    expect(runs).toBe(2);
  });

  it.each([
    [{ id: 1 }, 'input[0].id'],
    [{ type: 'item_reference' }, 'input[0].id'],
    [{ type: 'item_reference', id: { a: 1 } }, 'input[0].id'],
    [{ type: null, id: ['msg_'] }, 'input[0].id'],
    [{ type: { a: 1 } }, 'input[0].type'],
    [{ type: 'constructor' }, 'input[0].type'],
    [['item_reference'], 'input[0]'],
  ])('is refused where it is %j', async (item, param) => {
    expect(await refusalOf([item, user('two')])).toMatchObject({ param });
  });

  it('is of one conversation', async () => {
    const [one, other] = [await respond(host.url, 'one'), await respond(host.url, 'other')];
    const input = [user('one'), ...references(one), user('other'), ...references(other), user('x')];
    const elsewhere =
      'is of a response that belongs to another conversation than the others: send the item itself, with "store": false.';
    const refused = { param: 'input[1].id', message: `"input[1].id" ${elsewhere}` };
    expect(await refusalOf(input)).toMatchObject(refused);
    const later = [user('one'), ...references(one), user('x')];
    expect(await refusalOf(later, { previous_response_id: other.id })).toMatchObject(refused);
    const { id } = await (await post(host.url, 'conversations', {})).json<Json>();
    expect(await refusalOf(later, { conversation: id })).toMatchObject(refused);
    expect(await refusalOf(later, { kwargs: { session_id: 'new' } })).toMatchObject(refused);
    const named = { conversation: id };
    const begun = await respond(host.url, 'one', named);
    const { session, history } = await toldOf([user('one'), ...references(begun), user('x')], named);
    expect([session, history]).toEqual([id, [['one', 'answer to one']]]);
    const unstored = await respond(host.url, 'one', { store: false });
    expect((await refusalOf([user('one'), ...references(unstored), user('x')])).message).toBe(
      '"input[1].id" is of a response that belongs to no conversation: send the item itself, with "store": false.',
    );
  });

  it('goes on after a response that failed, was cancelled or has not ended, and not after one that was erased', async () => {
    await respond(host.url, 'fail');
    const erased = await respond(host.url, 'one');
    const [item] = references(erased);
    await request(host.url, { method: 'DELETE', path: `/v1/responses/${erased.id}` });
    expect(await refusalOf([user('one'), item, user('x')])).toMatchObject({ param: 'input[1].id' });
    const waiting = await respond(host.url, 'wait', { background: true });
    const ofRun = (name: string) => reference(`msg_${waiting.id.slice('resp_'.length, 41)}_${name}`);
    const next = respond(host.url, [user('wait'), ofRun('0'), user('x')], { background: true });
    const nextId = (await next).id;
    expect(await (await fetchAt(host.url, `responses/${nextId}`)).json()).toMatchObject({ status: 'queued' });
    await post(host.url, `responses/${waiting.id}/cancel`);
    await host.idle();
    expect(told.at(-1)).toMatchObject({ query: 'x', history: [['wait', '']] });
  });

  it('has a response that its client has left, and does not wait for it with the session policy "interrupt"', async () => {
    const own = await startOpenAi(adapter, assistant, { runs: { sessionPolicy: 'interrupt' } });
    const stream = await post(own.url, 'responses', { input: 'wait', stream: true });
    const [, runId] = /resp_([\da-f-]{36})/.exec(await stream.until('response.in_progress'))!;
    stream.cut();
    const next = await respond(own.url, [user('wait'), reference(`msg_${runId}_0`), user('x')]);
    expect(next['status']).toBe('completed');
    expect(told.at(-1)).toMatchObject({ query: 'x', history: [['wait', '']] });
    await own.idle();
    await own.close();
  });

  it('is found for ten thousand items', async () => {
    const first = await respond(host.url, 'one');
    const [item] = references(first);
    const many = Array.from({ length: 10_000 }, () => item);
    expect((await toldOf([user('one'), ...many, user('two')])).history).toEqual([['one', 'answer to one']]);
    const strange = many.map((_, index) => ({
      ...{ type: 'message', role: 'assistant', content: `${index}` },
      id: `msg_${NOBODY.slice(0, -5)}${String(index).padStart(5, '0')}_0`,
    }));
    expect((await toldOf([user('one'), ...strange, user('two')])).history).toHaveLength(1);
    const unknown = strange.map(({ id }) => reference(id));
    expect(await refusalOf([...unknown, user('two')])).toMatchObject({ param: 'input[9999].id' });
  });
});
