import { readFile } from 'node:fs/promises';
import { LLMock } from '@copilotkit/aimock';
import { type ModelHandler, modelHandler, type ModelOptions } from '../../src/model/index.js';
import { QueryModule } from 'nest-agent-query';
import type { Envelope } from 'nest-agent-query';
import { promise } from '../../../../test/promises.js';
import { ask, cancel, FULL, request } from '../../../../test/support/client.js';
import { deferred } from '../../../../test/support/conditions.js';
import { describeOnOneAdapter, type Host, startHost } from '../../../../test/support/host.js';
import { EVERYTHING, HttpMcpServer } from '../mcp-servers.js';
import { OperatorLog } from '../../../../test/support/operator-log.js';
import { RemoteServer } from '../../../../test/support/remote-service.js';

const FIXTURES = new URL('../../../../test/fixtures/files/', import.meta.url);
const COMPLETED = { status: 'completed' };
const KEY = 'sk-secret-0123456789';

/** A tool of the caller. */
const LOCATE = {
  name: 'locate',
  description: 'Where I am',
  inputSchema: { type: 'object', properties: { exact: { type: 'boolean' } } },
};

const REFUSALS: [what: string, status: number, error: object, code: string, sentence: RegExp][] = [
  ['a refused key', 401, { message: `Incorrect API key: ${KEY}` }, 'handler_failed', /credential/],
  ['an unknown model', 404, { message: 'No such model' }, 'handler_failed', /does not know the model/],
  ['a failure of the endpoint', 500, { message: 'Oops' }, 'unavailable', /status 500/],
  ['an overloaded endpoint', 503, { message: 'Busy' }, 'unavailable', /status 503/],
  ['a used-up quota', 429, { message: 'x', code: 'insufficient_quota' }, 'rate_limited', /quota .* used up/],
  [
    'a context that is too long',
    400,
    { message: "This model's maximum context length is 8192 tokens.", code: 'context_length_exceeded' },
    'limit_exceeded',
    /longer than the model can take/,
  ],
];

describeOnOneAdapter('The agent model on %s', (adapter) => {
  let endpoint: LLMock;
  let host: Host | undefined;
  let log: OperatorLog;

  beforeEach(async () => {
    endpoint = new LLMock({ port: 0, host: '127.0.0.1' });
    await endpoint.start();
  });

  afterEach(async () => {
    await host?.close();
    host = undefined;
    await endpoint.stop();
  });

  async function start(options: Partial<ModelOptions> = {}): Promise<Host> {
    const settings = { baseUrl: `${endpoint.url}/v1`, model: 'test-model', apiKey: KEY, ...options };
    const handler: ModelHandler = modelHandler(settings, { PATH: process.env['PATH'] });
    host = await startHost(adapter, QueryModule.forRoot({ handler }));
    log = OperatorLog.of(host.app);
    return host;
  }

  /** What the endpoint has been asked, as the wire has it. */
  const asked = () => endpoint.getRequests().map(({ body }) => body as unknown as ChatRequest);
  const answered = async (text: string, url = host!.url) => {
    const envelopes = await (await ask(url, text)).allEnvelopes();
    return { envelopes, done: envelopes.at(-1)!.data as Done };
  };

  it(promise('model.answer', 'streams a text and its usage'), async () => {
    endpoint.on({ userMessage: 'capital' }, { content: 'The capital of France is Paris.' }, { chunkSize: 5 });
    await start({ instructions: 'Be brief.', temperature: 0.5 });
    const { envelopes, done } = await answered('What is the capital?');
    expect(done).toEqual(COMPLETED);
    const texts = dataOf(envelopes, 'message').map(({ content }) => content);
    expect(texts.join('')).toBe('The capital of France is Paris.');
    expect(texts.length).toBeGreaterThan(3);
    expect(dataOf(envelopes, 'usage')).toMatchObject([
      { inputTokens: expect.any(Number), outputTokens: expect.any(Number), model: 'test-model' },
    ]);
    expect(asked()).toMatchObject([
      {
        model: 'test-model',
        temperature: 0.5,
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'What is the capital?' },
        ],
      },
    ]);
  });

  it(promise('model.answer', 'shows the model the earlier turns'), async () => {
    endpoint.on({ userMessage: 'My name' }, { content: 'Hello Ada.' });
    endpoint.on({ userMessage: 'Who' }, { content: 'Ada.' });
    const { url } = await start();
    const kwargs = { session_id: 'a' };
    await (await ask(url, 'My name is Ada', { kwargs })).whole();
    await (await ask(url, 'Who am I?', { kwargs })).whole();
    expect(asked()[1]!.messages).toEqual([
      { role: 'user', content: 'My name is Ada' },
      { role: 'assistant', content: 'Hello Ada.' },
      { role: 'user', content: 'Who am I?' },
    ]);
  });

  describe.each(['stdio', 'HTTP'])('with an MCP server over %s', (transport) => {
    let server: HttpMcpServer | undefined;

    afterEach(async () => {
      await server?.stop();
      server = undefined;
    });

    it(promise('model.tools', 'takes two steps, and remembers them'), async () => {
      if (transport === 'HTTP') server = await HttpMcpServer.start();
      endpoint.on({ toolCallId: 'call-1' }, { toolCalls: [call('call-2', 'echo', { message: 'five' })] });
      endpoint.on({ toolCallId: 'call-2' }, { content: 'It is five.' });
      endpoint.on({ userMessage: 'sum' }, { toolCalls: [call('call-1', 'get-sum', { a: 2, b: 3 })] });
      endpoint.on({ userMessage: 'sure' }, { content: 'Yes.' });
      const { url } = await start({ mcpServers: { everything: server ? { url: server.url } : EVERYTHING } });
      const kwargs = { session_id: 'a' };
      const envelopes = await (await ask(url, 'The sum?', { kwargs })).allEnvelopes();
      const types = envelopes.map(({ type }) => type);
      expect(types.filter((type) => type !== 'usage' && type !== 'log')).toEqual([
        'tool_call',
        'tool_result',
        'tool_call',
        'tool_result',
        'message',
        'done',
      ]);
      expect(dataOf(envelopes, 'tool_call')[0]).toEqual({
        id: 'call-1',
        name: 'get-sum',
        arguments: { a: 2, b: 3 },
      });
      expect(JSON.stringify(dataOf(envelopes, 'tool_result')[0])).toContain('The sum of 2 and 3 is 5.');
      await (await ask(url, 'Are you sure?', { kwargs })).whole();
      const { messages } = asked().at(-1)!;
      expect(messages.map(({ role }) => role)).toEqual([
        'user',
        'assistant',
        'tool',
        'assistant',
        'tool',
        'assistant',
        'user',
      ]);
      expect(messages[2]!.content).toContain('The sum of 2 and 3 is 5.');
    });
  });

  it(promise('model.tools', 'ends an answer that takes too many steps'), async () => {
    endpoint.on({ userMessage: 'sum' }, { toolCalls: [call('call-1', 'get-sum', { a: 2, b: 3 })] });
    await start({ mcpServers: { everything: EVERYTHING }, maxSteps: 3 });
    const { envelopes, done } = await answered('The sum?');
    expect(done).toEqual(COMPLETED);
    expect(asked().length).toBe(3);
    expect(JSON.stringify(dataOf(envelopes, 'log'))).toContain('no more steps');
  });

  it(promise('model.caller-tools', 'over HTTP, and remembers the call'), async () => {
    endpoint.on({ toolCallId: 'call-1' }, { content: 'You are in Paris.' });
    endpoint.on({ userMessage: 'Where' }, { toolCalls: [call('call-1', 'locate', { exact: true })] });
    endpoint.on({ userMessage: 'sure' }, { content: 'Yes.' });
    const { url } = await start({ kwargs: ['tools'] });
    const kwargs = { session_id: 'a', tools: [LOCATE] };
    const reply = await ask(url, 'Where am I?', { headers: FULL, kwargs });
    await reply.until('input_required');
    expect(asked()[0]!.tools).toEqual([
      {
        type: 'function',
        function: { name: 'locate', description: 'Where I am', parameters: LOCATE.inputSchema },
      },
    ]);
    const path = `/query/${reply.runId}/inputs`;
    const answers = [{ id: 'call-1', outcome: 'answered', value: { content: { city: 'Paris' } } }];
    expect((await request(url, { path }, JSON.stringify({ answers }))).status).toBe(200);
    const envelopes = await reply.allEnvelopes();
    expect(envelopes.map(({ type }) => type).filter((type) => type !== 'usage')).toEqual([
      'tool_call',
      'input_required',
      'input_resolved',
      'tool_result',
      'message',
      'done',
    ]);
    expect(dataOf(envelopes, 'input_required')[0]!['requests']).toMatchObject([
      { id: 'call-1', kind: 'tool', toolCallId: 'call-1', name: 'locate', arguments: { exact: true } },
    ]);
    expect(dataOf(envelopes, 'tool_result')).toEqual([{ id: 'call-1', content: { city: 'Paris' } }]);
    expect(asked()[1]!.messages.at(-1)).toMatchObject({ role: 'tool', content: '{"city":"Paris"}' });
    await (await ask(url, 'Are you sure?', { kwargs })).whole();
    expect(asked()[2]!.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
    ]);
  });

  it(promise('model.caller-tools', 'has another question while it is asked'), async () => {
    endpoint.on({ userMessage: 'Where' }, { toolCalls: [call('call-1', 'locate', {})] });
    endpoint.on({ userMessage: 'Never mind' }, { content: 'Good.' });
    const { url } = await start({ kwargs: ['tools'] });
    const kwargs = { session_id: 'a', tools: [LOCATE] };
    const reply = await ask(url, 'Where am I?', { headers: FULL, kwargs });
    await reply.until('input_required');
    const next = await (await ask(url, 'Never mind', { kwargs })).allEnvelopes();
    expect(next.at(-1)!.data).toEqual(COMPLETED);
    expect((await reply.allEnvelopes()).at(-1)!.data).toEqual({ status: 'cancelled' });
    expect(asked()[1]!.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant' },
      { role: 'tool', content: expect.stringMatching(/^Not executed/) as string },
      { role: 'user', content: 'Never mind' },
    ]);
  });

  it(promise('model.files', 'passes an image on, and the text of a document'), async () => {
    endpoint.on({ userMessage: 'these' }, { content: 'A picture and a report.' });
    const { url } = await start({ inputs: ['image'] });
    const picture = await readFile(new URL('picture.png', FIXTURES));
    const report = await readFile(new URL('report.docx', FIXTURES));
    const parts = [
      { type: 'text', text: 'What are these?' },
      file('picture.png', 'image/png', picture),
      file('report.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document', report),
    ];
    await (await request(url, {}, JSON.stringify({ parts }))).whole();
    const [content, image, document] = asked()[0]!.messages[0]!.content as unknown as ContentPart[];
    expect(content).toEqual({ type: 'text', text: 'What are these?' });
    expect(image!.image_url!.url).toBe(`data:image/png;base64,${picture.toString('base64')}`);
    expect(document!.text).toMatch(/^<file name="report\.docx"/);
    expect(document!.text!.length).toBeGreaterThan(150);
  });

  it(promise('model.retry', 'answers after a 429'), async () => {
    endpoint.on({ userMessage: 'Hello' }, { content: 'Hi' });
    endpoint.nextRequestError(429, { message: 'Slow down', type: 'rate_limit_error' });
    await start();
    const { envelopes, done } = await answered('Hello');
    expect([done, dataOf(envelopes, 'message')]).toEqual([COMPLETED, [{ content: 'Hi' }]]);
    expect(endpoint.getRequests().map(({ response }) => response.status)).toEqual([429, 200]);
  });

  it.each(REFUSALS)(
    promise('model.errors', 'says what it is: %s'),
    async (_, status, error, code, sentence) => {
      endpoint.on({ userMessage: 'Hello' }, { error: error as { message: string }, status });
      await start({ retries: 0 });
      const { envelopes, done } = await answered('Hello');
      expect(done).toEqual({
        status: 'failed',
        error: { code, message: expect.stringMatching(sentence) as string },
      });
      expect(JSON.stringify(envelopes)).not.toContain(KEY);
      expect(log.troubles.join('\n')).toContain(String(status));
    },
  );

  it(promise('model.retry', 'does not ask again after a cut in the middle of the stream'), async () => {
    const content = 'one two three four five six seven eight';
    endpoint.on({ userMessage: 'Count' }, { content }, { chunkSize: 4, truncateAfterChunks: 4, latency: 30 });
    await start();
    const { envelopes, done } = await answered('Count');
    const text = dataOf(envelopes, 'message').map(({ content: piece }) => piece);
    expect(content.startsWith(text.join(''))).toBe(true);
    expect(text.length).toBeGreaterThan(0);
    expect(done).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
    expect(endpoint.getRequests().length).toBe(1);
  });

  it(promise('model.refused-turns', 'an image, and a word'), async () => {
    const strict = await RemoteServer.start();
    const bodies: string[] = [];
    strict.answers((response, { body }) => {
      bodies.push(body);
      const isRefused = body.includes('image_url') || body.includes('forbidden');
      response.writeHead(isRefused ? 400 : 200, {
        'Content-Type': isRefused ? 'application/json' : 'text/event-stream',
      });
      if (isRefused) return void response.end('{"error":{"message":"I cannot take this"}}');
      const choices = [{ index: 0, delta: { content: 'Hello' }, finish_reason: 'stop' }];
      response.end(`data: ${JSON.stringify({ choices })}\n\ndata: [DONE]\n\n`);
    });
    const { url } = await start({ baseUrl: strict.url, inputs: ['image'], retries: 0 });
    const kwargs = { session_id: 'a' };
    const picture = file('a.png', 'image/png', await readFile(new URL('picture.png', FIXTURES)));
    const parts = [{ type: 'text', text: 'What is this?' }, picture];
    const done = async (query: object) =>
      (await (await request(url, {}, JSON.stringify({ ...query, kwargs }))).allEnvelopes()).at(-1)!
        .data as Done;
    const message =
      'The endpoint of the model refused the request with the status 400. Ask again without the files, or in other ' +
      'words: what was refused is not sent again. The service has logged the cause.';
    const failed = { status: 'failed', error: { code: 'handler_failed', message } };
    expect(await done({ parts })).toEqual(failed);
    expect(await done({ parts: [{ type: 'text', text: 'A forbidden word' }] })).toEqual(failed);
    expect(await done({ parts: [{ type: 'text', text: 'Say hello' }] })).toEqual(COMPLETED);
    expect(await done({ parts: [{ type: 'text', text: 'And again' }] })).toEqual(COMPLETED);
    expect((JSON.parse(bodies.at(-1)!) as ChatRequest).messages).toEqual([
      { role: 'user', content: 'Say hello' },
      { role: 'assistant', content: 'Hello' },
      { role: 'user', content: 'And again' },
    ]);
    await strict.stop();
  });

  it(promise('model.cancel', 'in the middle of the stream'), async () => {
    const talking = await RemoteServer.start();
    const closed = deferred();
    talking.answers((response) => {
      response.once('close', () => closed.resolve());
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'word' } }] })}\n\n`);
    });
    const { url } = await start({ baseUrl: talking.url });
    const reply = await ask(url, 'Talk', { headers: FULL });
    await reply.until('word');
    expect((await cancel(url, reply.runId)).status).toBe(200);
    await closed.promise;
    expect((await reply.allEnvelopes()).at(-1)!.data).toEqual({ status: 'cancelled' });
    await talking.stop();
  });
});

interface ChatRequest {
  model: string;
  tools?: object[];
  messages: { role: string; content: string }[];
}

interface ContentPart {
  type: string;
  text?: string;
  image_url?: { url: string };
}

interface Done {
  status: string;
  error?: { code: string; message: string };
}

function dataOf(envelopes: Envelope[], type: string): Record<string, unknown>[] {
  return envelopes
    .filter((envelope) => envelope.type === type)
    .map(({ data }) => data as Record<string, unknown>);
}

function call(id: string, name: string, args: object) {
  return { id, name, arguments: JSON.stringify(args) };
}

function file(name: string, mimeType: string, bytes: Buffer) {
  return { type: 'file', name, mimeType, base64: bytes.toString('base64') };
}
