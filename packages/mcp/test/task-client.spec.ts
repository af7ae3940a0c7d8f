import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient, type RawClientDispatch } from '@modelcontextprotocol/ext-tasks/client';
import {
  CancelTaskResultV2Schema,
  CreateTaskResultV2Schema,
  GetTaskResultV2Schema,
} from '@modelcontextprotocol/ext-tasks/core/v2';
import { type HandlerFunction, message, type Query } from 'nest-agent-query';
import { openStore } from 'nest-agent-query/stores';
import { call, type Json, resultOf, send, startMcp, WITH_TASKS } from '../../../test/protocols/mcp-host.js';
import { eventually } from '../../../test/support/conditions.js';
import { type Host, ONE_ADAPTER } from '../../../test/support/host.js';

const textOf = ({ parts }: Query) => (parts[0]?.type === 'text' ? parts[0].text : '');

const handler: HandlerFunction = Object.assign(
  async function* (...[query, context]: Parameters<HandlerFunction>) {
    const text = textOf(query);
    if (text === 'hang') await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
    if (text === 'ask') {
      const [answer] = await context.ask([{ key: 'q', kind: 'input', message: 'Which?' }]);
      yield message(`You said ${String(answer!.value)}.`);
    } else yield message(text);
  } as HandlerFunction,
  { restarts: 1 },
);

const owner = ({ headers }: { headers: Record<string, string> }) => headers['authorization'];
const INFO = { name: 'test', version: '1.0.0' };

describe('A client of the tasks extension', () => {
  let directory: string;
  let host: Host;
  const closing: (() => Promise<unknown>)[] = [];

  const start = async () => {
    const store = await openStore(`file:${join(directory, 'runs.db')}`);
    host = await startMcp(ONE_ADAPTER, handler, { owner, store });
  };
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'mcp-'));
    await start();
  });
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
    await host.close();
    await rm(directory, { recursive: true });
  });

  /** Sends what the extension's client makes, as the SDK's client sends other requests. */
  const dispatchAs =
    (name: string): RawClientDispatch =>
    async (request) => {
      const { method, params } = request as { method: string; params: Json };
      const { _meta, ...others } = params;
      const asked = { meta: _meta as object, capabilities: WITH_TASKS, headers: { authorization: name } };
      const { error, ...result } = await resultOf(await send(host.url, method, others, asked));
      return (error ? { kind: 'error', error } : { kind: 'result', result }) as never;
    };

  const sessionOf = async (name: string, answer: string) => {
    const client = new Client(INFO, {
      capabilities: WITH_TASKS,
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    });
    const requestInit = { headers: { authorization: name } };
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', host.url), { requestInit }));
    const session = createTaskSessionFromClient(client, {
      endpointId: 'test',
      // Asked for through the client, its JSON would be of another realm than the tests of Jest, and is refused.
      tools: { currentTool: (tool) => ({ name: tool, inputSchema: { type: 'object' } }) },
      rawDispatch: dispatchAs(name),
      v2RequestFraming: { protocolVersion: '2026-07-28', clientInfo: INFO, clientCapabilities: WITH_TASKS },
      onInputRequest: async () => ({ action: 'accept', content: { answer } }) as never,
    });
    closing.push(
      () => client.close(),
      () => session.close(),
    );
    return session;
  };

  it('gets the result of a call, answers what it asks, and cancels it', async () => {
    const session = await sessionOf('ann', 'this');
    const begin = (text: string) => session.callTool('query', { text });
    const calls = [await begin('Hello'), await begin('ask'), await begin('hang')];
    const [run] = (await host.agent.runs('ann', { limit: 1 })).runs;
    await session.cancelTask(run!.id as never);
    // The client looks after each task once a second: all wait at the same time.
    const [said, asked, hanging] = await Promise.all(calls.map((call) => call.settle()));
    expect(said!.outcome).toMatchObject({
      status: 'completed',
      result: { content: [{ type: 'text', text: 'Hello' }] },
    });
    expect(asked!.outcome).toMatchObject({
      result: { content: [{ type: 'text', text: 'You said this.' }] },
    });
    expect(hanging!.outcome).toMatchObject({ status: 'cancelled' });
  });

  it('finds a task again that has asked before the service was restarted', async () => {
    const asked = { capabilities: WITH_TASKS, headers: { authorization: 'ann' } };
    const created = await call(host.url, { text: 'ask' }, asked);
    expect(CreateTaskResultV2Schema.parse(created)).toMatchObject({ status: 'working' });
    const taskId = created['taskId'] as string;
    const task = async (method = 'get', more = {}, name = 'ann') =>
      resultOf(
        await send(
          host.url,
          `tasks/${method}`,
          { taskId, ...more },
          { ...asked, headers: { authorization: name } },
        ),
      );
    await eventually(async () => (await task())['status'] === 'input_required');
    GetTaskResultV2Schema.parse(await task());
    await host.close();
    await start();
    expect(await task()).toMatchObject({ status: 'input_required', inputRequests: { q: {} } });
    expect(await task('get', {}, 'bob')).toMatchObject({ error: { code: -32602 } });
    CancelTaskResultV2Schema.parse(
      await task('update', { inputResponses: { q: { action: 'accept', content: { answer: 'now' } } } }),
    );
    await eventually(async () => (await task())['status'] === 'completed');
    expect(GetTaskResultV2Schema.parse(await task())).toMatchObject({
      result: { content: [{ type: 'text', text: 'You said now.' }] },
    });
  });
});
