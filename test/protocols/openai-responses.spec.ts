import {
  type Envelope,
  log,
  message,
  progress,
  reasoning,
  result,
  source,
  suggestions,
  toolCall,
  toolResult,
  usage,
} from '../../src/index.js';
import { get, type Reply, request } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';
import { fetchAt, type Json, lastOf, post, respond, startOpenAi, typesOf } from './openai-host.js';

const RUN = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g;

/** A stream without what differs from run to run. */
const literal = (stream: string) =>
  stream.replace(RUN, '<run>').replace(/"created_at":\d+/g, '"created_at":0');

const HEAD = '{"id":"resp_<run>","object":"response","created_at":0,"background":false,"completed_at":null,';
const TAIL =
  '"conversation":null,"incomplete_details":null,"instructions":null,"max_output_tokens":null,"max_tool_calls":null,' +
  '"metadata":{},"model":"agent","parallel_tool_calls":true,"previous_response_id":null,"prompt_cache_key":null,"reasoning":null,' +
  '"safety_identifier":null,"service_tier":"default","store":true,"temperature":1,"text":{"format":{"type":"text"}},' +
  '"tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":1,"presence_penalty":0,"frequency_penalty":0,"truncation":"disabled"}';
const USAGE =
  '{"input_tokens":7,"input_tokens_details":{"cached_tokens":1,"cache_write_tokens":0},"output_tokens":5,' +
  '"output_tokens_details":{"reasoning_tokens":2},"total_tokens":12}';
const CITED = (url: string, title: string, at: number) =>
  `{"type":"url_citation","url":"${url}","title":"${title}","start_index":${at},"end_index":${at}}`;

describeOnOneAdapter('A response of OpenAI on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  beforeEach(async () => {
    agent = new ScriptedAgent();
    host = await startOpenAi(adapter, agent.handler);
  });
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  it('is written as events of every type of envelope', async () => {
    const reply = await post(host.url, 'responses', { input: 'Hi', stream: true });
    const call = await agent.call(1);
    const envelopes: Envelope[] = [
      log('begins'),
      reasoning('Hm '),
      reasoning('…'),
      source('https://a.example/', { title: 'A' }),
      toolCall('c', 'add', { a: 1 }),
      progress(1),
      toolResult('c', { sum: 2 }),
      message('It is\u2028'),
      usage({ inputTokens: 3, outputTokens: 2, cachedInputTokens: 1 }),
      message('"2"'),
      source('https://b.example/'),
      message('Other', { id: 'o' }),
      result({ sum: 2 }),
      usage({ inputTokens: 4, outputTokens: 3, reasoningTokens: 2 }),
      suggestions([{ text: 'Again' }]),
      { type: 'custom', data: 1 },
    ];
    for (const envelope of envelopes) call.emit(envelope);
    call.finish();
    const stream = literal(await reply.whole());
    const items = [
      '{"id":"rs_<run>_0","type":"reasoning","summary":[{"type":"summary_text","text":"Hm …"}]}',
      '{"id":"mcp_<run>_1","type":"mcp_call","server_label":"agent","name":"add","arguments":"{\\"a\\":1}","output":"{\\"sum\\":2}",' +
        '"error":null,"status":"completed","approval_request_id":null}',
      '{"id":"msg_<run>_2","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text",' +
        `"text":"It is\\u2028\\"2\\"","annotations":[${CITED('https://a.example/', 'A', 0)},` +
        `${CITED('https://b.example/', 'https://b.example/', 9)}],"logprobs":[]}]}`,
      '{"id":"msg_<run>_3","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text",' +
        '"text":"Other","annotations":[],"logprobs":[]}]}',
      '{"id":"msg_<run>_4","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text",' +
        '"text":"{\\"sum\\":2}","annotations":[],"logprobs":[]}]}',
    ];
    const begun = `${HEAD}"status":"in_progress","error":null,"usage":null,"output":[],${TAIL}`;
    const events: [string, string][] = [
      ['response.created', `"response":${begun}`],
      ['response.in_progress', `"response":${begun}`],
      [
        'response.output_item.added',
        '"output_index":0,"item":{"id":"rs_<run>_0","type":"reasoning","summary":[]}',
      ],
      [
        'response.reasoning_summary_part.added',
        '"item_id":"rs_<run>_0","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}',
      ],
      [
        'response.reasoning_summary_text.delta',
        '"item_id":"rs_<run>_0","output_index":0,"summary_index":0,"delta":"Hm "',
      ],
      [
        'response.reasoning_summary_text.delta',
        '"item_id":"rs_<run>_0","output_index":0,"summary_index":0,"delta":"…"',
      ],
      [
        'response.reasoning_summary_text.done',
        '"item_id":"rs_<run>_0","output_index":0,"summary_index":0,"text":"Hm …"',
      ],
      [
        'response.reasoning_summary_part.done',
        '"item_id":"rs_<run>_0","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":"Hm …"}',
      ],
      ['response.output_item.done', `"output_index":0,"item":${items[0]}`],
      [
        'response.output_item.added',
        '"output_index":1,"item":{"id":"mcp_<run>_1","type":"mcp_call","server_label":"agent","name":"add","arguments":"",' +
          '"output":null,"error":null,"status":"in_progress","approval_request_id":null}',
      ],
      ['response.mcp_call.in_progress', '"item_id":"mcp_<run>_1","output_index":1'],
      ['response.mcp_call_arguments.delta', '"item_id":"mcp_<run>_1","output_index":1,"delta":"{\\"a\\":1}"'],
      [
        'response.mcp_call_arguments.done',
        '"item_id":"mcp_<run>_1","output_index":1,"arguments":"{\\"a\\":1}"',
      ],
      ['response.mcp_call.completed', '"item_id":"mcp_<run>_1","output_index":1'],
      ['response.output_item.done', `"output_index":1,"item":${items[1]}`],
      ...text(2, ['It is\\u2028', '\\"2\\"'], items[2]!, [
        ['https://a.example/', 'A', 0],
        ['https://b.example/', 'https://b.example/', 9],
      ]),
      ...text(3, ['Other'], items[3]!),
      ...text(4, ['{\\"sum\\":2}'], items[4]!),
      [
        'response.completed',
        `"response":${HEAD}"status":"completed","error":null,"usage":${USAGE},"output":[${items.join()}],${TAIL}`,
      ],
    ];
    const expected = events.map(
      ([type, members], number) =>
        `event: ${type}\ndata: {"type":"${type}","sequence_number":${number},${members}}\n\n`,
    );
    expect(stream.split(/(?<=\n\n)/)).toEqual(expected);
    expect(reply.headers['content-type']).toBe('text/event-stream; charset=utf-8');
  });

  it('goes on after any of its events, and is the same at once', async () => {
    const whole = await post(host.url, 'responses', { input: 'Hi', stream: true });
    const call = await agent.call(1);
    for (let count = 0; count < 4; count++) call.emit(reasoning('a'), message('b é'));
    const cut = await whole.until('"sequence_number":9');
    const { id } = JSON.parse(cut.slice(cut.indexOf('"response":') + 11, cut.indexOf('}\n\n'))) as Json;
    const after = (number: number) =>
      fetchAt(host.url, `responses/${id}?stream=true&starting_after=${number}`);
    const live = await after(3);
    whole.cut();
    call.finish();
    const events = (await (await fetchAt(host.url, `responses/${id}?stream=true`)).whole()).split(
      /(?<=\n\n)/,
    );
    expect(events.join('').startsWith(cut)).toBe(true);
    expect(await live.whole()).toBe(events.slice(4).join(''));
    for (const number of events.keys())
      expect(await (await after(number)).whole()).toBe(events.slice(number + 1).join(''));
    const response = await (await fetchAt(host.url, `responses/${id}`)).json<Json>();
    expect({ ...response, completed_at: null }).toEqual(lastOf(events.join('')));
    expect(response['completed_at']).toEqual(expect.any(Number));
  });
});

/** The events of a message. */
function text(
  index: number,
  deltas: string[],
  item: string,
  cited: [string, string, number][] = [],
): [string, string][] {
  const place = `"item_id":"msg_<run>_${index}","output_index":${index},"content_index":0`;
  const annotated = cited.map(([url, title, at], number): [string, string] => [
    'response.output_text.annotation.added',
    `${place},"annotation_index":${number},"annotation":${CITED(url, title, at)}`,
  ]);
  const part = item.slice(item.indexOf('[') + 1, -2);
  return [
    [
      'response.output_item.added',
      `"output_index":${index},"item":{"id":"msg_<run>_${index}","type":"message","role":"assistant","status":"in_progress","content":[]}`,
    ],
    [
      'response.content_part.added',
      `${place},"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}`,
    ],
    ...annotated.slice(0, 1),
    ...deltas.map((delta): [string, string] => [
      'response.output_text.delta',
      `${place},"logprobs":[],"delta":"${delta}"`,
    ]),
    ...annotated.slice(1),
    ['response.output_text.done', `${place},"text":"${deltas.join('')}","logprobs":[]`],
    ['response.content_part.done', `${place},"part":${part}`],
    ['response.output_item.done', `"output_index":${index},"item":${item}`],
  ];
}

describeOnOneAdapter('Responses of OpenAI on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  beforeEach(async () => {
    agent = new ScriptedAgent();
    host = await startOpenAi(adapter, agent.handler, {
      owner: (request) => request.headers['x-caller'] as string,
    });
  });
  afterEach(async () => {
    await host.idle();
    await host.close();
  });
  const end = async (number: number, how: (call: Awaited<ReturnType<ScriptedAgent['call']>>) => void) => {
    const call = await agent.call(number);
    call.emit(message('So far'));
    how(call);
  };
  const streamOf = (body: object = {}): Promise<Reply> =>
    post(host.url, 'responses', { input: 'Hi', stream: true, ...body });

  it('end as their runs do', async () => {
    const failing = await streamOf();
    await end(1, (call) => call.fail(new Error('secret')));
    const failed = await failing.whole();
    expect(typesOf(failed).at(-1)).toBe('response.failed');
    expect(lastOf(failed)).toMatchObject({
      status: 'failed',
      error: { code: 'handler_failed', message: 'The agent failed. The service has logged the cause.' },
      output: [{ status: 'incomplete', content: [{ text: 'So far' }] }],
    });
    const waiting = await streamOf();
    await agent.call(2);
    const begun = await waiting.until('response.in_progress');
    const id = /resp_[\w-]+/.exec(begun)![0];
    const cancelled = await post(host.url, `responses/${id}/cancel`);
    expect(await cancelled.json()).toMatchObject({ id, status: 'cancelled', error: null });
    const stream = await waiting.whole();
    expect(typesOf(stream).at(-1)).toBe('response.incomplete');
    expect(lastOf(stream)).toMatchObject({ status: 'cancelled' });
    const direct = respond(host.url, 'Hi');
    await end(3, (call) => call.fail(new Error('secret')));
    expect(await direct).toMatchObject({ status: 'failed' });
  });

  it('are left when their caller goes, and retrieved in the background', async () => {
    const background = await respond(host.url, 'Hi', { background: true, metadata: { k: 'v' } });
    expect(background).toMatchObject({
      status: 'queued',
      background: true,
      metadata: { k: 'v' },
      output: [],
    });
    const retrieved = async () => (await fetchAt(host.url, `responses/${background.id}`)).json<Json>();
    const items = async () => (await fetchAt(host.url, `responses/${background.id}/input_items`)).json();
    expect(await retrieved()).toMatchObject({ status: 'in_progress' });
    const list = {
      object: 'list',
      data: [
        { type: 'message', role: 'user', status: 'completed', content: [{ type: 'input_text', text: 'Hi' }] },
      ],
      has_more: false,
    };
    expect(await items()).toMatchObject(list);
    await end(1, (call) => call.finish());
    await eventually(async () => (await retrieved())['status'] === 'completed');
    expect(await items()).toMatchObject(list);
  });

  it('belong to their caller', async () => {
    const response = respond(host.url, 'Hi', {}, { 'x-caller': 'ann' });
    await end(1, (call) => call.finish());
    const { id } = await response;
    const bob = { 'x-caller': 'bob' };
    const refused = [
      await fetchAt(host.url, `responses/${id}`, bob),
      await fetchAt(host.url, `responses/${id}?stream=true`, bob),
      await fetchAt(host.url, `responses/${id}/input_items`, bob),
      await post(host.url, `responses/${id}/cancel`, undefined, bob),
      await post(host.url, 'responses', { input: 'x', previous_response_id: id }, bob),
    ];
    for (const reply of refused) expect(reply.status).toBe(404);
    expect(await refused[0]!.json()).toEqual({
      error: {
        message: 'There is no such run, or it is no longer kept.',
        type: 'invalid_request_error',
        param: null,
        code: 'not_found',
      },
    });
  });

  it('that are repeated with an idempotency key are one response', async () => {
    const key = { 'idempotency-key': 'k' };
    const first = respond(host.url, 'Hi', {}, key);
    await end(1, (call) => call.finish());
    const { id } = await first;
    expect(await respond(host.url, 'Hi', {}, key)).toMatchObject({ id });
    expect((await post(host.url, 'responses', { input: 'Other' }, key)).status).toBe(422);
    const next = { previous_response_id: id };
    const second = respond(host.url, 'More', next, { 'idempotency-key': 'l' });
    await end(2, (call) => call.finish());
    expect(await respond(host.url, 'More', next, { 'idempotency-key': 'l' })).toMatchObject({
      id: (await second).id,
    });
  });

  it('are not found when they are not stored, or have been deleted', async () => {
    const unstored = respond(host.url, 'Hi', { store: false });
    await end(1, (call) => call.finish());
    const { id, store } = await unstored;
    expect(store).toBe(false);
    for (const path of [id, `${id}/input_items`, id.replace('unstored_', '') + '_2'])
      expect((await fetchAt(host.url, `responses/${path}`)).status).toBe(404);
    const stored = respond(host.url, 'Hi');
    await end(2, (call) => call.finish());
    const path = `/v1/responses/${(await stored).id}`;
    const deleted = await request(host.url, { method: 'DELETE', path });
    expect(await deleted.json()).toMatchObject({ object: 'response', deleted: true });
    expect((await request(host.url, { method: 'DELETE', path })).status).toBe(404);
  });

  it.each([
    [{ input: 1 }, 'input', '"input" must be a string or an array of items.'],
    [{ input: [] }, 'input', '"input" must end with a message of the role "user".'],
    [{ input: [{ role: 'x', content: '' }] }, 'input[0].role', undefined],
    [{ input: [{ role: 'user', content: [{ type: 'input_text' }] }] }, 'input[0].content[0].text', undefined],
    [{ input: [{ role: 'user', content: [{ type: 'video' }] }] }, 'input[0].content[0].type', undefined],
    [image({ image_url: 'https://a.example/b.png' }), 'input[0].content[0].image_url', undefined],
    [image({ file_id: 'file-1' }), 'input[0].content[0].file_id', undefined],
    [image({ image_url: 'data:image/png;base64,?' }), 'input[0].content[0].image_url', undefined],
    [{ input: 'x', tools: [1] }, 'tools[0]', undefined],
    [{ input: 'x', metadata: { a: 1 } }, 'metadata.a', '"/metadata/a" must be a string.'],
    [{ input: 'x', kwargs: 1 }, 'kwargs', undefined],
    [{ input: 'x', stream: 'yes' }, 'stream', undefined],
    [{ input: 'x', background: true, store: false }, 'background', undefined],
    [{ input: 'x', conversation: 'a', previous_response_id: 'b' }, 'previous_response_id', undefined],
    [{ input: [{ type: 'function_call_output', call_id: 'c', output: '' }] }, 'input[0].call_id', undefined],
    [{ input: [{ type: 'computer_call_output' }] }, 'input[0].type', undefined],
  ])('refuse %j', async (body, param, text) => {
    const reply = await post(host.url, 'responses', body);
    expect(reply.status).toBe(400);
    const message: unknown = text ?? expect.any(String);
    const error = { message, type: 'invalid_request_error', param, code: 'invalid_query' };
    expect(await reply.json()).toEqual({ error });
  });

  it.each([
    '/v1/responses',
    '/v1/chat/completions',
    '/v1',
    // Fastify leaves a path with a slash at its end to the host.
    ...(adapter === 'express' ? ['/v1/'] : []),
    '/v1/files',
    '/v1/responses/x/y/z',
    '/v1/models/other',
    '/v1/responses/resp_1',
  ])('answer GET %s with 404', async (path) => {
    const reply = await get(host.url, path);
    expect(reply.status).toBe(404);
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(await reply.json()).toMatchObject({ error: { code: 'not_found', param: null } });
  });
});

function image(members: object): object {
  return { input: [{ role: 'user', content: [{ type: 'input_image', ...members }] }] };
}
