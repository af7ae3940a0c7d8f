import { a2aHandler } from 'nest-agent-query-a2a';
import { fromAcp } from 'nest-agent-query-acp';
import { fromAiSdk } from 'nest-agent-query-ai-sdk';
import { modelHandler } from 'nest-agent-query-ai-sdk/model';
import { openDispatcher } from 'nest-agent-query-bullmq';
import { fromClaudeAgent } from 'nest-agent-query-claude-agent';
import { McpModule } from 'nest-agent-query-mcp';
import { A2aModule } from 'nest-agent-query-protocols/a2a';
import { AgUiModule } from 'nest-agent-query-protocols/ag-ui';
import { AiSdkModule } from 'nest-agent-query-protocols/ai-sdk';
import { OpenAiModule } from 'nest-agent-query-protocols/openai';
import { commandHandler } from '../src/agents/command/index.js';
import { remoteHandler } from '../src/agents/remote/index.js';
import { file, MemoryRunStore, message, reasoning, source, toolResult } from '../src/index.js';
import { PlaygroundModule } from '../src/playground/index.js';
import { openStore } from '../src/stores/index.js';
import { MetricsModule, openTracer } from '../src/telemetry/index.js';
import { type Host, ONE_ADAPTER, startAgent } from './support/host.js';
import { ScriptedAgent } from './support/scripted-agent.js';

const URL = 'http://agent.internal';

const QUERY = { parts: [{ type: 'text' as const, text: 'Hi' }], kwargs: {} };

/** A call with a member that is unknown, and what it says. The types would refuse each of them. */
const CALLS: [sentence: string, call: () => unknown][] = [
  ['message: ids is not an option.', () => message('a', { ids: 'b' } as never)],
  ['reasoning: Id is not an option.', () => reasoning('a', { Id: 'b' } as never)],
  [
    'toolResult: isErr is not an option. Did you mean isError?',
    () => toolResult('a', 1, { isErr: true } as never),
  ],
  [
    'file: mimetype is not an option. Did you mean mimeType?',
    () => file({ content: new Blob([]), mimetype: 'text/csv' } as never),
  ],
  ['source: titles is not an option. Did you mean title?', () => source(URL, { titles: 'a' } as never)],
  [
    'MemoryRunStore: retention.run is not an option. Did you mean retention.runMs?',
    () => new MemoryRunStore({ run: 1 } as never),
  ],
  [
    'openStore: retentions is not an option. Did you mean retention?',
    () => openStore('memory:', { retentions: {} } as never),
  ],
  [
    'openStore: postgres: pool is not an option. Did you mean poolSize?',
    () => openStore('memory:', { postgres: { pool: 5 } } as never),
  ],
  ['openTracer: agent is not an option. Did you mean agentName?', () => openTracer({ agent: 'a' } as never)],
  [
    'openDispatcher: named is not an option. Did you mean name?',
    () => openDispatcher('redis://localhost', { named: 'a' } as never),
  ],
  [
    'commandHandler: process is not an option. Did you mean processes?',
    () => commandHandler({ command: 'cat', process: 1 } as never),
  ],
  [
    'remoteHandler: patience is not an option. Did you mean patienceMs?',
    () => remoteHandler({ url: URL, patience: 1 } as never),
  ],
  [
    'a2aHandler: header is not an option. Did you mean headers?',
    () => a2aHandler({ url: URL, header: {} } as never),
  ],
  [
    'modelHandler: baseURL is not an option. Did you mean baseUrl?',
    () => modelHandler({ baseUrl: URL, model: 'm', baseURL: URL } as never),
  ],
  [
    'The options of the adapter: contextLength is not an option. Did you mean contextTokens?',
    () => fromAiSdk(() => ({}) as never, { contextLength: 5 } as never),
  ],
  [
    'fromAcp: keepMS is not an option. Did you mean keepMs?',
    () => fromAcp({ command: 'agent', keepMS: 5 } as never),
  ],
  [
    'The options of the adapter: asks is not an option. Did you mean ask?',
    () => fromClaudeAgent({ asks: [] } as never),
  ],
  [
    'MetricsModule: ports is not an option. Did you mean port?',
    () => MetricsModule.forRoot({ ports: 1 } as never),
  ],
  [
    'PlaygroundModule: endpoints is not an option. Did you mean endpoint?',
    () => PlaygroundModule.forRoot({ endpoints: [] } as never),
  ],
  ['A2aModule: cards is not an option. Did you mean card?', () => A2aModule.forRoot({ cards: {} } as never)],
  [
    'AgUiModule: decorator is not an option. Did you mean decorators?',
    () => AgUiModule.forRoot({ decorator: [] } as never),
  ],
  ['AiSdkModule: sdk is not an option.', () => AiSdkModule.forRoot({ sdk: {} } as never)],
  [
    'OpenAiModule: hosts is not an option. Did you mean host?',
    () => OpenAiModule.forRoot({ hosts: [] } as never),
  ],
  ['McpModule: ttl is not an option. Did you mean ttlMs?', () => McpModule.forRoot({ ttl: 1 } as never)],
  [
    'McpModule: a tool: titled is not an option. Did you mean title?',
    () => McpModule.forRoot({ tools: [{ titled: 'a' }] } as never),
  ],
];

describe('An option that is unknown', () => {
  it.each(CALLS)('is refused, and what may be meant is named: %s', async (sentence, call) => {
    const called = (async () => call())();
    await expect(called).rejects.toBeInstanceOf(TypeError);
    await expect(called).rejects.toThrow(sentence);
  });

  it('counts as absent if it is undefined', () => {
    expect(message('a', { ids: undefined } as never)).toEqual({ type: 'message', data: { content: 'a' } });
  });

  describe('of the AgentService', () => {
    let host: Host;
    const scripted = new ScriptedAgent();
    beforeAll(async () => void (host = await startAgent(ONE_ADAPTER, scripted.handler)));
    afterAll(() => host.close());

    it.each<[string, (host: Host) => unknown, string]>([
      [
        'query',
        ({ agent }) => agent.query(QUERY, { detach: true } as never).admitted,
        'query: detach is not an option. Did you mean detached?',
      ],
      ['follow', ({ agent }) => agent.follow('ann', 'x', 0, { signal: 1 } as never), 'follow: signal is not'],
      [
        'runs',
        ({ agent }) => agent.runs('ann', { sessionId: 's' } as never),
        'runs: sessionId is not an option. Did you mean session?',
      ],
      [
        'sessions',
        ({ agent }) => agent.sessions('ann', { status: 'running' } as never),
        'sessions: status is',
      ],
      [
        'usage',
        ({ agent }) => agent.usage('ann', { sessions: 's' } as never),
        'usage: sessions is not an option. Did you mean session?',
      ],
      [
        'inputs.open',
        ({ agent }) => agent.inputs.open('ann', { limits: 5 } as never),
        'inputs.open: limits is not an option. Did you mean limit?',
      ],
      [
        'inputs.answer',
        ({ agent }) => agent.inputs.answer('ann', 'x', [], { detach: true } as never),
        'inputs.answer: detach is not an option. Did you mean detached?',
      ],
    ])('is refused by %s', async (_, call, sentence) => {
      const called = (async () => call(host))();
      await expect(called).rejects.toBeInstanceOf(TypeError);
      await expect(called).rejects.toThrow(`AgentService.${sentence}`);
    });
  });
});
