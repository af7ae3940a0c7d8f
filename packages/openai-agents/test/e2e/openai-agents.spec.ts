import { readFile } from 'node:fs/promises';
import { LLMock } from '@copilotkit/aimock';
import { Agent, OpenAIProvider, Runner } from '@openai/agents';
import { fromOpenAIAgents } from '../../src/index.js';
import type { Envelope } from 'nest-agent-query';
import { frameworkTool } from '../harness.js';
import { promise } from '../../../../test/promises.js';
import { answerOf, ask, cancel, FULL, request } from '../../../../test/support/client.js';
import { deferred } from '../../../../test/support/conditions.js';
import { describeOnOneAdapter, type Host, startAgent } from '../../../../test/support/host.js';
import { RemoteServer } from '../../../../test/support/remote-service.js';

const FIXTURES = new URL('../../../../test/fixtures/files/', import.meta.url);
const KEY = 'sk-secret-0123456789';

/** The beginning of an answer, as each interface has it. */
const WORD: Record<string, object> = {
  responses: {
    type: 'response.output_text.delta',
    item_id: 'm',
    output_index: 0,
    content_index: 0,
    delta: 'word',
  },
  'chat completions': { id: 'c', model: 'test-model', choices: [{ index: 0, delta: { content: 'word' } }] },
};

const dataOf = (envelopes: Envelope[], type: string) =>
  envelopes.filter((envelope) => envelope.type === type).map(({ data }) => data as Record<string, unknown>);

describeOnOneAdapter('An agent of OpenAI Agents on %s', (adapter) => {
  let endpoint: LLMock;
  let host: Host;

  beforeEach(async () => {
    endpoint = new LLMock({ port: 0, host: '127.0.0.1' });
    await endpoint.start();
  });

  afterEach(async () => {
    await host.idle();
    await host.close();
    await endpoint.stop();
  });

  async function start(kind: string, baseURL = `${endpoint.url}/v1`): Promise<string> {
    const settings = { apiKey: KEY, baseURL, useResponses: kind === 'responses' };
    const runner = new Runner({ tracingDisabled: true, modelProvider: new OpenAIProvider(settings) });
    const tools = [frameworkTool({ name: 'weather', execute: () => ({ celsius: 21 }) })];
    const agent = new Agent({ name: 'Weather', model: 'test-model', tools });
    host = await startAgent(adapter, fromOpenAIAgents(agent, { runner }));
    return host.url;
  }

  // The endpoint does not show the files of the interface of responses.
  it(promise('openai-agents.files'), async () => {
    endpoint.on({ userMessage: 'this' }, { content: 'A picture and a report.' });
    const url = await start('chat completions');
    const files = [
      { name: 'picture.png', mimeType: 'image/png' },
      { name: 'report.pdf', mimeType: 'application/pdf' },
    ];
    const parts = await Promise.all(
      files.map(async (file) => {
        const base64 = await readFile(new URL(file.name, FIXTURES), 'base64');
        return { type: 'file', ...file, base64 };
      }),
    );
    const body = JSON.stringify({ parts: [{ type: 'text', text: 'What is this?' }, ...parts] });
    const reply = await request(url, { headers: FULL }, body);
    expect(answerOf(await reply.whole()).text).toBe('A picture and a report.');
    const sent = JSON.stringify(endpoint.getRequests().at(-1)!.body);
    for (const { base64 } of parts) expect(sent.includes(base64)).toBe(true);
  });

  describe.each(['responses', 'chat completions'])('with the interface of %s', (kind) => {
    const weatherCall = { toolCalls: [{ id: 'call-1', name: 'weather', arguments: '{"city":"Paris"}' }] };

    it(promise('openai-agents.answer'), async () => {
      endpoint.on({ toolCallId: 'call-1' }, { content: 'It is 21 degrees.' }, { chunkSize: 5 });
      endpoint.on({ userMessage: 'weather' }, weatherCall);
      endpoint.on({ userMessage: 'sure' }, { content: 'Yes.' });
      const url = await start(kind);
      const kwargs = { session_id: 's' };
      const envelopes = await (await ask(url, 'The weather?', { kwargs })).allEnvelopes();
      expect(
        envelopes.map(({ type }) => type).filter((type) => type !== 'usage' && type !== 'message'),
      ).toEqual(['tool_call', 'tool_result', 'done']);
      expect(dataOf(envelopes, 'tool_call')).toEqual([
        { id: 'call-1', name: 'weather', arguments: { city: 'Paris' } },
      ]);
      expect(dataOf(envelopes, 'tool_result')).toEqual([{ id: 'call-1', content: { celsius: 21 } }]);
      const texts = dataOf(envelopes, 'message').map(({ content }) => content);
      expect(texts.join('')).toBe('It is 21 degrees.');
      expect(texts.length).toBeGreaterThan(2);
      expect(dataOf(envelopes, 'usage').every(({ model }) => model === 'test-model')).toBe(true);
      const again = answerOf(await (await ask(url, 'Are you sure?', { kwargs })).whole());
      expect(again.text).toBe('Yes.');
      expect(JSON.stringify(endpoint.getRequests().at(-1)!.body)).toContain('celsius');
    });

    it(promise('openai-agents.errors'), async () => {
      endpoint.on(
        { userMessage: 'Hello' },
        { error: { message: `Incorrect API key: ${KEY}`, type: 'invalid_request_error' }, status: 401 },
      );
      const url = await start(kind);
      const text = await (await ask(url, 'Hello')).whole();
      expect(text).toContain('refuses the credential');
      expect(text).not.toContain(KEY);
      expect(text).not.toContain(new URL(endpoint.url).host);
    });

    it(promise('openai-agents.cancel'), async () => {
      const talking = await RemoteServer.start();
      const closed = deferred();
      talking.answers((response) => {
        response.once('close', () => closed.resolve());
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        response.write(`data: ${JSON.stringify(WORD[kind])}\n\n`);
      });
      const url = await start(kind, talking.url);
      const reply = await ask(url, 'Talk', { headers: FULL });
      await reply.until('"message"');
      expect((await cancel(url, reply.runId)).status).toBe(200);
      await closed.promise;
      expect((await reply.allEnvelopes()).at(-1)!.data).toEqual({ status: 'cancelled' });
      await talking.stop();
    });
  });
});
