import { Module } from '@nestjs/common';
import { message, QueryModule } from 'nest-agent-query';
import { OpenAiModule } from 'nest-agent-query-protocols/openai';
import OpenAI from 'openai';
import { CuttingProxy } from '../../../test/support/cutting-proxy.js';
import { describeOnOneAdapter, type Host, startHost } from '../../../test/support/host.js';
import { ScriptedAgent } from '../../../test/support/scripted-agent.js';

describeOnOneAdapter('The client of OpenAI behind a connection that is cut, on %s,', (adapter) => {
  let host: Host;
  let proxy: CuttingProxy;
  let agent: ScriptedAgent;
  beforeEach(async () => {
    agent = new ScriptedAgent();
    @Module({ imports: [QueryModule.forRoot({ handler: agent.handler }), OpenAiModule.forRoot()] })
    class AppModule {}
    host = await startHost(adapter, AppModule);
    proxy = await CuttingProxy.before(host.url);
  });
  afterEach(async () => {
    await proxy.stop();
    await host.idle();
    await host.close();
  });
  const client = (options: object = {}) =>
    new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'none', ...options });
  const answer = async () => {
    const call = await agent.call(1);
    call.emit(message('The whole '), message('answer'));
    call.finish();
  };

  it('gets the whole stream of a response that was cut before its head, of one run', async () => {
    proxy.cutAfter(0);
    const stream = await client().responses.create({ model: 'agent', input: 'Hi', stream: true });
    await answer();
    let text = '';
    for await (const event of stream) if (event.type === 'response.output_text.delta') text += event.delta;
    expect([text, proxy.cuts, agent.calls.length]).toEqual(['The whole answer', 1, 1]);
  });

  it('gets the whole stream of a chat that was cut before its head, of one run', async () => {
    proxy.cutAfter(0);
    const stream = await client().chat.completions.create({
      model: 'agent',
      messages: [{ role: 'user', content: 'Hi' }],
      stream: true,
    });
    await answer();
    let text = '';
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
    expect([text, proxy.cuts, agent.calls.length]).toEqual(['The whole answer', 1, 1]);
  });

  it('gets an answer that takes longer than it waits for, of one run', async () => {
    let requests = 0;
    const counted: typeof fetch = (...args) => {
      // The agent answers when the client has given up once.
      if (++requests === 2) void answer();
      return fetch(...args);
    };
    const { output_text: text } = await client({
      timeout: 500,
      fetch: counted,
      maxRetries: 5,
    }).responses.create({
      model: 'agent',
      input: 'Hi',
    });
    expect(requests).toBeGreaterThan(1);
    expect([text, agent.calls.length]).toEqual(['The whole answer', 1]);
  });
});
