import { Module } from '@nestjs/common';
import { McpModule } from 'nest-agent-query-mcp';
import { A2aModule } from 'nest-agent-query-protocols/a2a';
import { AgUiModule } from 'nest-agent-query-protocols/ag-ui';
import { AiSdkModule } from 'nest-agent-query-protocols/ai-sdk';
import { OpenAiModule } from 'nest-agent-query-protocols/openai';
import { type Envelope, QueryModule } from '../../src/index.js';
import { ask, get, request } from '../support/client.js';
import { type Host, startHost } from '../support/host.js';
import { BINDINGS, Client } from './a2a-host.js';
import { call } from './mcp-host.js';

const PLAN = { entries: [{ content: 'Read', status: 'completed' }] };
const DIFFS = [{ path: 'a.ts', oldText: null, newText: 'x' }];
const LOCATIONS = [{ path: 'a.ts', line: 1 }];
const CALL = { id: 'c', name: 'edit', arguments: {}, title: 'Edit a.ts', kind: 'edit', diffs: DIFFS };

/** What a coding agent sends beside what any agent does. */
const ENVELOPES: Envelope[] = [
  { type: 'message', data: { content: 'One ' } },
  { type: 'plan', data: PLAN },
  { type: 'tool_call', data: CALL },
  { type: 'tool_result', data: { id: 'c', content: 'Written', diffs: DIFFS, locations: LOCATIONS } },
  { type: 'message', data: { content: 'two.' } },
];

describe('What a coding agent sends', () => {
  let host: Host;
  beforeAll(async () => {
    async function* handler() {
      yield* ENVELOPES;
    }
    const views = [AiSdkModule, AgUiModule, OpenAiModule, A2aModule].map((view) => view.forRoot());
    @Module({ imports: [QueryModule.forRoot({ handler }), McpModule.forRoot(), ...views] })
    class Application {}
    host = await startHost('express', Application);
  });
  afterAll(() => host.close());

  const post = async (path: string, body: object) =>
    (await request(host.url, { path }, JSON.stringify(body))).whole();

  it('reaches callers of the endpoint unchanged', async () => {
    const reply = await ask(host.url);
    expect((await reply.allEnvelopes()).slice(0, -1)).toEqual(ENVELOPES);
  });

  it('harms no view: each has the whole answer, and the plan where it has a place for it', async () => {
    const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Go' }] };
    const chat = await post('/ai/chat', { id: 'c1', messages: [message] });
    expect(chat).toContain(`{"type":"data-plan","data":${JSON.stringify(PLAN)}}`);
    expect(chat).toContain('"type":"finish"');

    const reply = await ask(host.url);
    await reply.allEnvelopes();
    const runId = String(reply.headers['content-location']).split('/').at(-1)!;
    const shown = await (await get(host.url, `/ag-ui?runId=${runId}&offset=-1`)).whole();
    expect(shown).toContain(`"type":"CUSTOM","name":"plan","value":${JSON.stringify(PLAN)}`);
    expect(shown).toContain('"type":"RUN_FINISHED"');

    const messages = [{ role: 'user', content: 'Go' }];
    const completion = await post('/v1/chat/completions', { model: 'agent', messages });
    expect(completion).toContain('One two.');

    const task = await new Client(host.url, BINDINGS[0]!).send('Go');
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(JSON.stringify(task.artifacts)).toMatch(/One .*two\./);

    expect(JSON.stringify(await call(host.url, { text: 'Go' }))).toContain('One two.');
  });
});
