import { message, QueryError } from '../../src/index.js';
import { type Reply } from '../support/client.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { type Call, ScriptedAgent } from '../support/scripted-agent.js';
import { dataOf, fetchAt, type Json, lastOf, post, startOpenAi } from './openai-host.js';

const SECRET = 'The agent failed. The service has logged the cause.';
const HI = { input: 'Hi' };
const CHAT = { messages: [{ role: 'user', content: 'Hi' }] };

const runError = (code: string, text: string) => ({
  message: text,
  type: 'invalid_response_error',
  param: null,
  code,
});

describeOnOneAdapter(
  'The end of a run without a whole answer, as clients of OpenAI get it on %s,',
  (adapter) => {
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
    const cancelNewest = async () => {
      const [run] = (await host.agent.runs('anonymous', { limit: 1 })).runs;
      await host.agent.cancel('anonymous', run!.id);
    };
    const ENDS: [string, (call: Call) => unknown, ReturnType<typeof runError>][] = [
      ['an exception', (call) => call.fail(new Error('secret')), runError('handler_failed', SECRET)],
      [
        'a code of its agent',
        (call) => call.fail(new QueryError('quota_exceeded', 'The quota is used up.', { status: 429 })),
        runError('quota_exceeded', 'The quota is used up.'),
      ],
      ['a cancellation', cancelNewest, runError('run_ended', 'The run was cancelled.')],
    ];
    const begin = async (
      path: string,
      body: object,
      end: (call: Call) => unknown,
      text = '',
    ): Promise<Reply> => {
      const reply = post(host.url, path, body);
      const call = await agent.call(1);
      if (text !== '') call.emit(message(text));
      await end(call);
      return reply;
    };

    it.each(ENDS)('after %s: an event "error" before the last one', async (_, end, error) => {
      const stream = await (await begin('responses', { ...HI, stream: true }, end)).whole();
      const { type: _type, ...members } = error;
      const events = dataOf(stream);
      expect(events.map(({ type }) => type)).toEqual([
        'response.created',
        'response.in_progress',
        'error',
        error.code === 'run_ended' ? 'response.incomplete' : 'response.failed',
      ]);
      expect(events[2]).toEqual({ type: 'error', sequence_number: 2, ...members, error });
      expect(lastOf(stream)['error']).toEqual(error.code === 'run_ended' ? null : error);
    });

    it('is these bytes of a stream', async () => {
      const fail = (call: Call) => call.fail(new QueryError('handler_failed', 'The model is gone.'));
      const stream = await (await begin('responses', { ...HI, stream: true }, fail)).whole();
      const [, , event] = stream.split(/(?<=\n\n)/);
      expect(event).toBe(
        'event: error\n' +
          'data: {"type":"error","sequence_number":2,"message":"The model is gone.","param":null,"code":"handler_failed",' +
          '"error":{"message":"The model is gone.","type":"invalid_response_error","param":null,"code":"handler_failed"}}\n\n',
      );
    });

    it.each(ENDS)('after %s: a status that nobody repeats, and the response', async (_, end, error) => {
      const reply = await begin('responses', HI, end, 'So far');
      expect([reply.status, reply.headers['x-should-retry']]).toEqual([400, 'false']);
      const body = await reply.json<Json>();
      const status = error.code === 'run_ended' ? 'cancelled' : 'failed';
      expect(body).toMatchObject({ object: 'response', status, error, output: [{ status: 'incomplete' }] });
      const fetched = await fetchAt(host.url, `responses/${body.id}`);
      expect(fetched.status).toBe(200);
      const known = { status, error: error.code === 'run_ended' ? null : error };
      expect(await fetched.json()).toMatchObject(known);
    });

    it.each(ENDS)('after %s: the error of a chat, with a status or in its stream', async (_, end, error) => {
      const reply = await begin('chat/completions', CHAT, end, 'So far');
      expect([reply.status, reply.headers['x-should-retry']]).toEqual([400, 'false']);
      expect(await reply.json()).toEqual({ error });
    });

    it('is in the stream of a response from any event on, and of one in the background', async () => {
      const fail = (call: Call) => call.fail(new QueryError('handler_failed', 'The model is gone.'));
      const background = await begin('responses', { ...HI, background: true }, fail);
      expect(background.status).toBe(200);
      const { id } = await background.json<Json>();
      await host.idle();
      const typesAfter = async (query: string) =>
        dataOf(await (await fetchAt(host.url, `responses/${id}?stream=true${query}`)).whole()).map(
          ({ type }) => type,
        );
      expect((await typesAfter('')).slice(2)).toEqual(['error', 'response.failed']);
      expect(await typesAfter('&starting_after=1')).toEqual(['error', 'response.failed']);
      expect(await typesAfter('&starting_after=2')).toEqual(['response.failed']);
    });

    it('is the time limit of the run', async () => {
      await host.close();
      host = await startOpenAi(adapter, agent.handler, { runs: { timeoutMs: 20 } });
      const reply = await post(host.url, 'chat/completions', CHAT);
      expect(reply.status).toBe(400);
      const limit = expect.stringContaining('the time limit of a run') as string;
      expect(await reply.json()).toEqual({ error: runError('run_timeout', limit) });
    });

    it('is not a refusal of the service, which clients may repeat', async () => {
      await host.close();
      const admit = () => {
        throw new QueryError('at_capacity', 'Not now.', { retryAfter: 7 });
      };
      host = await startOpenAi(adapter, agent.handler, { admit });
      for (const [path, body] of [
        ['responses', HI],
        ['chat/completions', CHAT],
      ] as const) {
        const reply = await post(host.url, path, body);
        expect([reply.status, reply.headers['retry-after'], reply.headers['x-should-retry']]).toEqual([
          503,
          '7',
          undefined,
        ]);
        expect(await reply.json()).toMatchObject({ error: { type: 'server_error', code: 'at_capacity' } });
      }
    });
  },
);
