import { type HandlerFunction, message, type Query, type Question } from '../../src/index.js';
import type { Reply } from '../support/client.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { ASKING, call, initialize, resultOf, send, sendLegacy, startMcp, toldIn } from './mcp-host.js';

const CALL = { toolCallId: 'c1', name: 'refund', arguments: { amount: 120 } };
const QUESTIONS: Record<string, Question[]> = {
  approval: [{ key: 'q', kind: 'approval', message: 'Refund?', ...CALL }],
  text: [{ key: 'q', kind: 'input', message: 'Which?' }],
  choice: [{ key: 'q', kind: 'input', message: 'Which?', schema: { enum: ['a', 'b'] } }],
  form: [
    {
      key: 'q',
      kind: 'input',
      message: 'Who?',
      schema: {
        type: 'object',
        properties: {
          name: { type: 'string', minLength: 1, pattern: '^A' },
          age: { type: 'integer' },
          size: { type: 'string', oneOf: [{ const: 's', title: 'Small' }] },
          tags: { type: 'array', items: { type: 'string', enum: ['x', 'y'] } },
        },
        required: ['name'],
      },
    },
  ],
  nested: [
    {
      key: 'q',
      kind: 'input',
      message: 'Where?',
      schema: { type: 'object', properties: { at: { type: 'object' } } },
    },
  ],
  tool: [{ key: 'q', kind: 'tool', message: 'Refund', ...CALL }],
  auth: [{ key: 'q', kind: 'auth', message: 'Sign in', url: 'https://example.com/' }],
  two: [
    { key: 'q1', kind: 'input', message: 'One?' },
    { key: 'q2', kind: 'input', message: 'Two?' },
  ],
  hidden: [
    { key: 'q1', kind: 'input', message: 'One?' },
    { key: 'q2', kind: 'tool', message: 'Refund', ...CALL },
  ],
};

const textOf = ({ parts }: Query) => (parts[0]?.type === 'text' ? parts[0].text : '');

const handler: HandlerFunction = async function* (query, context) {
  yield message('So: ');
  const answers = await context.ask(QUESTIONS[textOf(query)]!);
  yield message(JSON.stringify(answers.map(({ outcome, value }) => value ?? outcome)));
};

const asked = { capabilities: ASKING };

describeOnOneAdapter('Questions of a run to a client of MCP, on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    host = await startMcp(adapter, handler);
  });
  afterAll(() => host.close());
  const begin = (text: string) => call(host.url, { text }, asked);
  const goOn = (text: string, state: unknown, inputResponses: object) =>
    call(host.url, { text }, asked, { requestState: state, inputResponses });
  const accept = (content?: unknown) => ({ action: 'accept', ...(content !== undefined && { content }) });

  it.each([
    [
      'approval',
      {
        mode: 'form',
        message: 'Refund?\n\nrefund({"amount":120})',
        requestedSchema: {
          type: 'object',
          properties: {
            approved: { type: 'boolean', title: 'Approve' },
            reason: { type: 'string', title: 'Reason' },
          },
          required: ['approved'],
        },
      },
      { approved: false, reason: 'no' },
      '[{"approved":false,"reason":"no"}]',
    ],
    [
      'text',
      {
        mode: 'form',
        message: 'Which?',
        requestedSchema: { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] },
      },
      { answer: 'this' },
      '["this"]',
    ],
    [
      'choice',
      {
        mode: 'form',
        message: 'Which?',
        requestedSchema: {
          type: 'object',
          properties: { answer: { type: 'string', enum: ['a', 'b'] } },
          required: ['answer'],
        },
      },
      { answer: 'b' },
      '["b"]',
    ],
    [
      'form',
      {
        mode: 'form',
        message: 'Who?',
        requestedSchema: {
          type: 'object',
          properties: {
            name: { type: 'string', minLength: 1 },
            age: { type: 'integer' },
            size: { type: 'string', oneOf: [{ const: 's', title: 'Small' }] },
            tags: { type: 'array', items: { type: 'string', enum: ['x', 'y'] } },
          },
          required: ['name'],
        },
      },
      { name: 'Ann', tags: ['x'] },
      '[{"name":"Ann","tags":["x"]}]',
    ],
    [
      'auth',
      { mode: 'url', message: 'Sign in', url: 'https://example.com/', elicitationId: 'q' },
      undefined,
      '[{}]',
    ],
  ])(
    'an %s is asked in the result, and answered by the call that comes again',
    async (text, params, content, answer) => {
      const first = await begin(text);
      expect(first).toMatchObject({
        resultType: 'input_required',
        inputRequests: { q: { method: 'elicitation/create', params } },
      });
      const second = await goOn(text, first['requestState'], { q: accept(content) });
      expect(second).toMatchObject({
        resultType: 'complete',
        content: [{ type: 'text', text: `So: ${answer}` }],
      });
    },
  );

  it.each([
    ['approval', 'decline', '[{"approved":false}]'],
    ['approval', 'cancel', '["declined"]'],
    ['text', 'decline', '["declined"]'],
  ])('an %s can be answered with %s', async (text, action, answer) => {
    const { requestState } = await begin(text);
    const { content } = await goOn(text, requestState, { q: { action } });
    expect(content).toEqual([{ type: 'text', text: `So: ${answer}` }]);
  });

  it.each(['nested', 'tool'])('what no form can show (%s) is declined', async (text) => {
    expect((await begin(text))['content']).toEqual([{ type: 'text', text: 'So: ["declined"]' }]);
  });

  it('are asked again until all of them are answered', async () => {
    const first = await begin('two');
    expect(Object.keys(first['inputRequests'] as object)).toEqual(['q1', 'q2']);
    const second = await goOn('two', first['requestState'], {
      q2: accept({ answer: '2' }),
      other: accept({}),
    });
    expect(Object.keys(second['inputRequests'] as object)).toEqual(['q1']);
    const third = await goOn('two', second['requestState'], { q1: accept({ answer: '1' }) });
    expect(third['content']).toEqual([{ type: 'text', text: 'So: ["1","2"]' }]);
    // A response that was lost is got again.
    expect(await goOn('two', second['requestState'], { q1: accept({ answer: '1' }) })).toEqual(third);
  });

  it('leave out what no form can show', async () => {
    const first = await begin('hidden');
    expect(Object.keys(first['inputRequests'] as object)).toEqual(['q1']);
    const { content } = await goOn('hidden', first['requestState'], { q1: accept({ answer: '1' }) });
    expect(content).toEqual([{ type: 'text', text: 'So: ["1","declined"]' }]);
  });

  it('refuse an answer that is not valid, and stay open', async () => {
    const { requestState } = await begin('form');
    expect(await goOn('form', requestState, { q: accept({ name: 'Bob' }) })).toMatchObject({
      error: { code: -32602, data: { errors: [{ pointer: '/answers/0/value/name' }] } },
    });
    const { content } = await goOn('form', requestState, { q: accept({ name: 'Ann' }) });
    expect(content).toEqual([{ type: 'text', text: 'So: [{"name":"Ann"}]' }]);
  });

  it('refuse a state that belongs to another call, or to none', async () => {
    const { requestState } = await begin('text');
    const refused = { error: { code: -32602, data: { reason: 'invalid_request_state' } } };
    const answers = { q: accept({ answer: 'x' }) };
    expect(await goOn('choice', requestState, answers)).toMatchObject(refused);
    expect(await goOn('text', 'x', answers)).toMatchObject(refused);
    expect(await goOn('text', String(requestState).replace(/.$/, 'g'), answers)).toMatchObject(refused);
  });

  it('are refused with -32021 for a client that cannot ask, and the run still asks', async () => {
    const reply = await send(host.url, 'tools/call', { name: 'query', arguments: { text: 'text' } });
    expect(reply.status).toBe(400);
    expect(await resultOf(reply)).toMatchObject({
      error: { code: -32021, data: { requiredCapabilities: { elicitation: { form: {} } } } },
    });
    expect((await host.agent.runs('anonymous', { limit: 1 })).runs[0]!.status).toBe('input_required');
  });

  describe('of the version 2025-11-25', () => {
    const start = async (text: string, capabilities: object) => {
      const session = await initialize(host.url, capabilities);
      const params = { name: 'query', arguments: { text } };
      return { session, reply: await sendLegacy(host.url, { id: 7, method: 'tools/call', params }, session) };
    };
    const messages = (reply: Reply) => toldIn(reply.bytes);

    it('come on the response of the call, and are answered in a request', async () => {
      const { session, reply } = await start('text', ASKING);
      await reply.until('elicitation/create');
      const [request] = messages(reply);
      expect(request).toMatchObject({
        method: 'elicitation/create',
        params: { mode: 'form', message: 'Which?' },
      });
      const response = { id: request!['id'], result: accept({ answer: 'this' }) };
      expect((await sendLegacy(host.url, response, session)).status).toBe(202);
      expect(await resultOf(reply)).toMatchObject({ content: [{ type: 'text', text: 'So: ["this"]' }] });
    });

    it('are declined by a client that answers with an error', async () => {
      const { session, reply } = await start('approval', ASKING);
      await reply.until('elicitation/create');
      const response = { id: messages(reply)[0]!['id'], error: { code: -32601, message: 'No' } };
      await (await sendLegacy(host.url, response, session)).whole();
      expect(await resultOf(reply)).toMatchObject({ content: [{ type: 'text', text: 'So: ["declined"]' }] });
    });

    it('are told in the result where the client cannot ask', async () => {
      const { reply } = await start('text', {});
      expect(await resultOf(reply)).toMatchObject({
        isError: true,
        content: [{ type: 'text', text: expect.stringContaining('Which?') }],
      });
    });

    it('refuse a response to no question', async () => {
      const reply = await sendLegacy(host.url, { id: 'none', result: {} });
      expect(reply.status).toBe(404);
      expect(await reply.json()).toMatchObject({
        jsonrpc: '2.0',
        id: null,
        error: { data: { code: 'not_found' } },
      });
    });
  });
});
