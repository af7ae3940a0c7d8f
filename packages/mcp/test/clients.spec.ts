import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { type HandlerFunction, log, message, type Query } from 'nest-agent-query';
import { startMcp } from '../../../test/protocols/mcp-host.js';
import { eventually } from '../../../test/support/conditions.js';
import { CuttingProxy } from '../../../test/support/cutting-proxy.js';
import { describeOnOneAdapter, type Host } from '../../../test/support/host.js';

const textOf = ({ parts }: Query) => (parts[0]?.type === 'text' ? parts[0].text : '');

/** Lets the agent go on that waits. */
let open: () => void;

const handler: HandlerFunction = async function* (query, context) {
  const text = textOf(query);
  yield log('Looking');
  if (text === 'hang') await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
  if (text === 'gate') await new Promise<void>((resolve) => (open = resolve));
  if (text === 'ask') {
    const [answer] = await context.ask([{ key: 'q', kind: 'input', message: 'Which?' }]);
    yield message(`You said ${String(answer!.value)}. `);
  }
  yield message(text);
};

const owner = ({ headers }: { headers: Record<string, string> }) => headers['authorization'];

/** What the tests do with a client, of either version. */
interface Connected {
  names(): Promise<string[]>;
  call(
    text: string,
    options?: { signal?: AbortSignal; onprogress?: (progress: object) => void },
  ): Promise<object>;
  close(): Promise<void>;
}

const INFO = { name: 'test', version: '1.0.0' };
const CAPABILITIES = { capabilities: { elicitation: { form: {} } } };
const elicited = { action: 'accept' as const, content: { answer: 'this' } };
const headersOf = (name: string) => ({ requestInit: { headers: { authorization: name } } });

async function modern(url: string, name: string): Promise<Connected> {
  const client = new ModernClient(INFO, {
    ...CAPABILITIES,
    versionNegotiation: { mode: { pin: '2026-07-28' } },
  });
  client.setRequestHandler('elicitation/create', () => elicited);
  await client.connect(new ModernTransport(new URL('/mcp', url), headersOf(name)));
  return {
    names: async () => (await client.listTools()).tools.map((tool) => tool.name),
    call: (text, options) => client.callTool({ name: 'query', arguments: { text } }, options),
    close: () => client.close(),
  };
}

async function old(url: string, name: string): Promise<Connected> {
  const client = new OldClient(INFO, CAPABILITIES);
  client.setRequestHandler(ElicitRequestSchema, () => elicited);
  await client.connect(new OldTransport(new URL('/mcp', url), headersOf(name)));
  return {
    names: async () => (await client.listTools()).tools.map((tool) => tool.name),
    call: (text, options) =>
      client.callTool({ name: 'query', arguments: { text } }, CallToolResultSchema, options),
    close: () => client.close(),
  };
}

const CLIENTS = {
  '@modelcontextprotocol/client 2 (2026-07-28)': modern,
  '@modelcontextprotocol/sdk 1 (2025-11-25)': old,
};

for (const [name, connect] of Object.entries(CLIENTS))
  describeOnOneAdapter(`The client ${name} on %s`, (adapter) => {
    let host: Host;
    let client: Connected;
    beforeAll(async () => {
      host = await startMcp(adapter, handler, { owner });
      client = await connect(host.url, 'ann');
    });
    afterAll(async () => {
      await client.close();
      await host.close();
    });
    const newest = async () => (await host.agent.runs('ann', { limit: 1 })).runs[0];

    it('lists the tools, and calls one', async () => {
      expect(await client.names()).toEqual(['query']);
      expect(await client.call('Hello')).toMatchObject({ content: [{ type: 'text', text: 'Hello' }] });
    });

    it('gets progress', async () => {
      const told: object[] = [];
      await client.call('ask', { onprogress: (progress) => told.push(progress) });
      expect(told[0]).toMatchObject({ progress: 1, message: 'Looking' });
    });

    it('asks its user what the run asks', async () => {
      expect(await client.call('ask')).toMatchObject({
        content: [{ type: 'text', text: 'You said this. ask' }],
      });
    });

    it('cancels the run of a call', async () => {
      const aborted = new AbortController();
      const result = client.call('hang', { signal: aborted.signal });
      await eventually(async () => (await newest())?.status === 'running');
      aborted.abort();
      await expect(result).rejects.toThrow();
      await eventually(async () => (await newest())?.status === 'cancelled');
      await host.idle();
    });
  });

describeOnOneAdapter(
  'A connection that is lost in a call of @modelcontextprotocol/sdk 1, on %s',
  (adapter) => {
    it('is made again, and the client gets the answer of the one run', async () => {
      const host = await startMcp(adapter, handler, { owner });
      const proxy = await CuttingProxy.before(host.url);
      const reconnectionOptions = {
        ...{ initialReconnectionDelay: 1, maxReconnectionDelay: 1 },
        ...{ reconnectionDelayGrowFactor: 1, maxRetries: 5 },
      };
      const client = new OldClient(INFO, CAPABILITIES);
      const options = { ...headersOf('ann'), reconnectionOptions };
      await client.connect(new OldTransport(new URL('/mcp', proxy.url), options));
      const told: object[] = [];
      const answer = client.callTool({ name: 'query', arguments: { text: 'gate' } }, CallToolResultSchema, {
        onprogress: (progress) => told.push(progress),
      });
      await eventually(() => told.length > 0);
      proxy.cutAfter(0);
      open();
      expect(await answer).toMatchObject({ content: [{ type: 'text', text: 'gate' }] });
      expect(proxy.cuts).toBe(1);
      expect((await host.agent.runs('ann', { limit: 9 })).runs).toHaveLength(1);
      await client.close();
      await proxy.stop();
      await host.close();
    });
  },
);
