import { message, QueryModule } from '../../src/index.js';
import { A2aModule } from 'nest-agent-query-protocols/a2a';
import { AgUiModule } from 'nest-agent-query-protocols/ag-ui';
import { AiSdkModule } from 'nest-agent-query-protocols/ai-sdk';
import { OpenAiModule } from 'nest-agent-query-protocols/openai';
import { get, request } from '../support/client.js';
import { describeOnOneAdapter, type Host, startHost } from '../support/host.js';

const CHAT = { messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] };
const INPUT = { threadId: 't', runId: 'r', messages: [{ role: 'user', content: 'Hi' }] };
const TASK = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hi' }] } };
const COMPLETION = { messages: [{ role: 'user', content: 'Hi' }] };

describeOnOneAdapter('The modules of protocols, on %s', (adapter) => {
  let host: Host | undefined;
  afterEach(async () => {
    await host?.close();
    host = undefined;
  });
  const start = async (...imports: object[]) =>
    (host = await startHost(adapter, { module: class {}, imports: imports as never }));
  const answering = (text: string, name?: string) =>
    QueryModule.forRoot({
      handler: async function* () {
        yield message(text);
      },
      ...(name !== undefined && { name, path: `${name}/query` }),
    });

  it('belong each to the QueryModule with the same name', async () => {
    const views = [undefined, 'a', 'b'].flatMap((name) => {
      const at = (path: string) => (name === undefined ? {} : { name, path: `/${name}/${path}/` });
      return [
        AiSdkModule.forRoot(at('ai')),
        AgUiModule.forRoot(at('ag-ui')),
        OpenAiModule.forRoot(at('v1')),
        A2aModule.forRoot(at('a2a')),
      ];
    });
    const { url } = await start(answering('A', 'a'), answering('none'), answering('B', 'b'), ...views);
    for (const [prefix, text] of [
      ['', 'none'],
      ['/a', 'A'],
      ['/b', 'B'],
    ])
      for (const [path, body] of [
        ['/ai/chat', CHAT],
        ['/ag-ui', INPUT],
        ['/v1/chat/completions', COMPLETION],
        ['/a2a/message:send', TASK],
      ] as const) {
        const headers = { 'a2a-version': '1.0' };
        const reply = await request(url, { path: `${prefix}${path}`, headers }, JSON.stringify(body));
        expect(await reply.whole()).toContain(`"${text}"`);
      }
  });

  it('have each the card of their agent', async () => {
    const { url } = await start(
      answering('A', 'a'),
      answering('none'),
      A2aModule.forRoot(),
      A2aModule.forRoot({ name: 'a', path: 'a/a2a' }),
    );
    for (const [prefix, name] of [
      ['', 'agent'],
      ['/a', 'a'],
    ]) {
      const card = await (await get(url, `${prefix}/.well-known/agent-card.json`)).json();
      expect(card).toMatchObject({ name, supportedInterfaces: [{ url: `${url}${prefix}/a2a` }, {}] });
    }
  });

  it('end the start where there is no such QueryModule, or where it is of another copy', async () => {
    await expect(start(answering('A', 'a'), AiSdkModule.forRoot())).rejects.toThrow(
      'This application has no QueryModule without a name. Import QueryModule beside the module of the protocol.',
    );
    await expect(start(answering('A', 'a'), AgUiModule.forRoot({ name: 'b' }))).rejects.toThrow(
      'This application has no QueryModule with the name "b".',
    );
    const copy = { module: class {}, providers: [{ provide: 'Endpoint:', useValue: {} }] };
    await expect(start(copy, OpenAiModule.forRoot())).rejects.toThrow(
      'Two copies of nest-agent-query are installed',
    );
  });
});
