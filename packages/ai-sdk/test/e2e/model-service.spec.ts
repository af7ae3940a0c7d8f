import { once } from 'node:events';
import type http from 'node:http';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promise } from '../../../../test/promises.js';
import { anyRuns } from '../../../../test/support/child-processes.js';
import { ask, cancel, follow, FULL, get } from '../../../../test/support/client.js';
import { eventuallyElsewhere } from '../../../../test/support/conditions.js';
import { itInLongForm } from '../../../../test/support/long-form.js';
import { EVERYTHING } from '../mcp-servers.js';
import { RemoteServer } from '../../../../test/support/remote-service.js';
import { refusalOf, serve, type SharedService, startService } from '../../../../test/support/service.js';

/**
 * An MCP server with one tool. It notes each call and which of them was cancelled, ignores SIGTERM and the end of its input, and
 * says its process id.
 */
const NOTING = `
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
process.on('SIGTERM', () => undefined);
setInterval(() => undefined, 1000);
appendFileSync('pids', process.pid + '\\n');
const reply = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'noting', version: '1' },
  }),
  'tools/list': () => ({ tools: [{ name: 'note', inputSchema: { type: 'object' } }] }),
  'tools/call': ({ arguments: { die, wait } }) => {
    appendFileSync('calls', 'call\\n');
    if (die) process.exit(3);
    if (wait) return undefined;
    return { content: [{ type: 'text', text: 'noted' }] };
  },
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method === 'notifications/cancelled') appendFileSync('cancelled', params.requestId + '\\n');
  const result = answers[method]?.(params);
  if (result) reply(id, result);
}
`;

describe('The service with AGENT=model', () => {
  let directory: string;
  let endpoint: RemoteServer;
  let service: SharedService | undefined;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'model-service-'));
    endpoint = await RemoteServer.start();
    await writeFile(join(directory, 'noting.mjs'), NOTING);
    await writeFile(join(directory, 'calls'), '');
    await writeFile(join(directory, 'cancelled'), '');
    await writeFile(join(directory, 'pids'), '');
    await writeFile(join(directory, 'instructions.md'), 'Be brief.');
    const noting = { command: process.execPath, args: ['noting.mjs'], cwd: directory };
    await writeFile(join(directory, 'mcp.json'), JSON.stringify({ mcpServers: { noting } }));
  });

  afterEach(async () => {
    await service?.stop();
    service = undefined;
    await endpoint.stop();
    await rm(directory, { recursive: true });
  });

  const settings = (more: Record<string, string> = {}) => ({
    AGENT: 'model',
    MODEL_BASE_URL: `${endpoint.url}/v1`,
    MODEL: 'test-model',
    MODEL_API_KEY: 'sk-secret',
    ...more,
  });
  const start = async (more: Record<string, string> = {}) =>
    (service = await serve(settings(more), directory));
  const startProcess = async (more: Record<string, string>) => {
    const started = await startService(settings(more), directory);
    service = started;
    return started;
  };
  const linesOf = async (name: string) =>
    (await readFile(join(directory, name), 'utf8')).trim().split('\n').filter(Boolean);
  const pids = async () => (await linesOf('pids')).map(Number);
  const bodies = () => endpoint.calls.map(({ body }) => JSON.parse(body) as ChatRequest);

  it(promise('model.answer', 'reads its instructions from a file, and sends its key'), async () => {
    endpoint.answers(says('Hi'));
    const { url } = await start({ MODEL_INSTRUCTIONS: './instructions.md', MODEL_TEMPERATURE: '0.2' });
    expect((await (await ask(url, 'Hello')).answer()).text).toBe('Hi');
    expect(endpoint.calls[0]!.headers.authorization).toBe('Bearer sk-secret');
    expect(endpoint.calls[0]!.path).toBe('/v1/chat/completions');
    expect(bodies()[0]).toMatchObject({
      model: 'test-model',
      temperature: 0.2,
      messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user' }],
    });
  });

  it(promise('model.kwargs', 'named ones override, and others do not'), async () => {
    endpoint.answers(says('Hi'));
    const { url } = await start({ MODEL_KWARGS: 'temperature,max_output_tokens' });
    const kwargs = { temperature: 1.5, max_output_tokens: 7, model: 'other', instructions: 'Lie.' };
    await (await ask(url, 'Hello', { kwargs })).whole();
    expect(bodies()[0]).toMatchObject({ model: 'test-model', temperature: 1.5, max_tokens: 7 });
    expect(bodies()[0]!.messages.map(({ role }) => role)).toEqual(['user']);
  });

  it(promise('model.kwargs', 'with a value that is not valid'), async () => {
    const { url } = await start({ MODEL_KWARGS: 'temperature,max_output_tokens,model,instructions,tools' });
    const faulty: [object, pointer: string][] = [
      [{ temperature: 3 }, '/kwargs/temperature'],
      [{ temperature: '1' }, '/kwargs/temperature'],
      [{ temperature: { toString: 'x' } }, '/kwargs/temperature'],
      [{ max_output_tokens: 1.5 }, '/kwargs/max_output_tokens'],
      [{ model: 'x'.repeat(201) }, '/kwargs/model'],
      [{ model: ['a'] }, '/kwargs/model'],
      [{ instructions: 'x'.repeat(65_537) }, '/kwargs/instructions'],
      [{ tools: { name: 'locate' } }, '/kwargs/tools'],
      [{ tools: [{ name: 'locate me', inputSchema: { type: 'object' } }] }, '/kwargs/tools/0/name'],
    ];
    for (const [kwargs, pointer] of faulty) {
      const reply = await ask(url, 'Hello', { kwargs });
      expect(reply.status).toBe(400);
      expect(await reply.json()).toMatchObject({ code: 'invalid_query', errors: [{ pointer }] });
    }
    expect(endpoint.calls).toEqual([]);
  });

  it(promise('model.restart', 'after a completed step'), async () => {
    endpoint.answers(calls('note', {}), silence, says('Noted.'));
    const environment = { DATABASE_URL: 'file:./runs.db', MCP_SERVERS: './mcp.json' };
    const { url, process: first, exited } = await startProcess(environment);
    const reply = await ask(url, 'Note it', { headers: FULL });
    await eventuallyElsewhere(() => endpoint.calls.length === 2);
    first.kill('SIGKILL');
    await exited;
    const { url: again } = await start(environment);
    const envelopes = await (await follow(again, reply.runId)).allEnvelopes();
    expect(envelopes.map(({ type }) => type)).toEqual([
      'tool_call',
      'tool_result',
      'usage',
      'restarted',
      'message',
      'usage',
      'done',
    ]);
    expect(envelopes.at(-1)!.data).toEqual({ status: 'completed' });
    expect(await linesOf('calls')).toEqual(['call']);
    expect(bodies()[2]!.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    // The server of the process that was killed ignores that its input has ended.
    const [left] = await pids();
    if (await anyRuns([left!])) process.kill(left!, 'SIGKILL');
  });

  /** Starts a service, and lets it start an MCP server. */
  async function startAndNote<S extends SharedService>(open: (more: Record<string, string>) => Promise<S>) {
    endpoint.answers(calls('note', {}), says('Noted.'));
    const started = await open({ MCP_SERVERS: './mcp.json' });
    await (await ask(started.url, 'Note it')).whole();
    expect(await anyRuns(await pids())).toBe(true);
    return started;
  }

  it(promise('model.mcp-processes', 'when it stops, though they ignore SIGTERM'), async () => {
    const started = await startAndNote(start);
    await started.stop();
    service = undefined;
    expect(await anyRuns(await pids())).toBe(false);
  });

  // Both signals stop the service as the test above does, and standalone.spec.ts tests that SIGTERM does.
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    itInLongForm(promise('model.mcp-processes', `after ${signal}, though they ignore it`), async () => {
      const { process: child, exited } = await startAndNote(startProcess);
      child.kill(signal);
      expect(await exited).toBe(0);
      expect(await anyRuns(await pids())).toBe(false);
      service = undefined;
    });

  it(promise('model.mcp-processes', 'after a second Ctrl-C, which ends the service at once'), async () => {
    endpoint.answers(calls('note', {}), silence);
    const { url, process: child, exited, output } = await startProcess({ MCP_SERVERS: './mcp.json' });
    await ask(url, 'Note it');
    await eventuallyElsewhere(() => endpoint.calls.length === 2);
    child.kill('SIGINT');
    await eventuallyElsewhere(() => output().includes('SIGINT: '));
    child.kill('SIGINT');
    expect(await exited).toBe(130);
    await eventuallyElsewhere(async () => !(await anyRuns(await pids())));
    service = undefined;
  });

  it(promise('model.mcp-processes', 'after it has died in the middle of a call'), async () => {
    endpoint.answers(calls('note', { die: true }), calls('note', {}), says('Noted.'));
    const { url, output } = await start({ MCP_SERVERS: './mcp.json' });
    const envelopes = await (await ask(url, 'Note it')).allEnvelopes();
    const results = envelopes.filter(({ type }) => type === 'tool_result').map(({ data }) => data);
    expect(results).toMatchObject([{ isError: true }, { content: { content: [{ text: 'noted' }] } }]);
    expect(envelopes.at(-1)!.data).toEqual({ status: 'completed' });
    expect((await pids()).length).toBe(2);
    expect(output()).toContain('The MCP server noting has ended with the code 3');
  });

  it(promise('model.tools', 'answers without a server that cannot be started'), async () => {
    endpoint.answers(says('Hi'));
    const servers = { mcpServers: { gone: { command: './gone' }, everything: EVERYTHING } };
    await writeFile(join(directory, 'mcp.json'), JSON.stringify(servers));
    const { url, output } = await start({ MCP_SERVERS: './mcp.json' });
    const envelopes = await (await ask(url, 'Hello')).allEnvelopes();
    expect(envelopes[0]).toEqual({ type: 'log', data: { message: 'The tools of gone are not available' } });
    expect(envelopes.at(-1)!.data).toEqual({ status: 'completed' });
    expect(bodies()[0]!.tools!.map(({ function: { name } }) => name)).toContain('echo');
    expect(output()).toContain('The MCP server gone cannot be used');
  });

  it(promise('model.cancel', 'of an endpoint that never answers'), async () => {
    endpoint.answers(silence);
    const { url } = await start();
    const reply = await ask(url, 'Hello', { headers: FULL });
    await eventuallyElsewhere(() => endpoint.calls.length === 1);
    expect((await cancel(url, reply.runId)).status).toBe(200);
    expect((await (await get(url, `/query/${reply.runId}`)).json())['status']).toBe('cancelled');
  });

  it(promise('model.cancel-tool'), async () => {
    const note = calls('note', {});
    endpoint.answers(note, note, says('Noted.'), note, says('Noted.'), calls('note', { wait: true }));
    const { url } = await start({ MCP_SERVERS: './mcp.json' });
    for (const text of ['Note it', 'Again']) await (await ask(url, text)).whole();
    const reply = await ask(url, 'Wait', { headers: FULL });
    await eventuallyElsewhere(async () => (await linesOf('calls')).length === 4);
    expect(await linesOf('cancelled')).toEqual([]);
    expect((await cancel(url, reply.runId)).status).toBe(200);
    await eventuallyElsewhere(async () => (await linesOf('cancelled')).length > 0);
    // The requests 0 and 1 are those of the start.
    expect(await linesOf('cancelled')).toEqual(['5']);
  });

  it.each([
    [{ MODEL_INSTRUCTIONS: './gone.md' }, /MODEL_INSTRUCTIONS .* must be a file .*ENOENT/],
    [{ MCP_SERVERS: './gone.json' }, /MCP_SERVERS .* must be a file .*ENOENT/],
    [{ MCP_SERVERS: './instructions.md' }, /AGENT is "model": It must be a JSON object/],
  ])(promise('model.answer', 'does not start with %j'), async (more: Record<string, string>, sentence) => {
    const { message, exitCode } = await refusalOf(settings(more), directory);
    expect([exitCode, message]).toEqual([1, expect.stringMatching(sentence)]);
    expect(message).not.toContain('secret');
  });

  it(promise('model.mcp-processes', 'which get none of its variables but the usual ones'), async () => {
    endpoint.answers(calls('get-env', {}), says('Hi'));
    await writeFile(join(directory, 'mcp.json'), JSON.stringify({ mcpServers: { everything: EVERYTHING } }));
    const { url } = await start({ MCP_SERVERS: './mcp.json', OTHER_SECRET: 'tell-nobody' });
    const answer = await (await ask(url, 'Which variables?')).whole();
    expect(answer).toContain('PATH');
    expect(answer).not.toContain('tell-nobody');
    expect(answer).not.toContain('sk-secret');
  });
});

interface ChatRequest {
  messages: { role: string; content: string }[];
  tools?: { function: { name: string } }[];
}

type Answer = Parameters<RemoteServer['answers']>[0];

function chunks(...deltas: object[]): Answer {
  return (response: http.ServerResponse) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    for (const choice of deltas) response.write(`data: ${JSON.stringify({ choices: [choice] })}\n\n`);
    const usage = { prompt_tokens: 1, completion_tokens: 1 };
    response.end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
  };
}

function says(content: string): Answer {
  return chunks({ index: 0, delta: { content } }, { index: 0, delta: {}, finish_reason: 'stop' });
}

function calls(name: string, args: object): Answer {
  const call = {
    index: 0,
    id: 'call-1',
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  };
  return chunks(
    { index: 0, delta: { tool_calls: [call] } },
    { index: 0, delta: {}, finish_reason: 'tool_calls' },
  );
}

/** Takes the request, and never answers. */
async function silence(response: http.ServerResponse): Promise<void> {
  await once(response, 'close');
}
