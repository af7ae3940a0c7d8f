import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import type { Envelope } from '../src/index.js';
import { answerOf, ask, FULL, request } from './support/client.js';
import { eventuallyElsewhere } from './support/conditions.js';
import { ROOT, WITHOUT_TYPES } from './support/documents.js';
import { serve, type SharedService } from './support/service.js';

const run = promisify(execFile);
const EXAMPLES = join(ROOT, 'examples');
const DONE = { type: 'done', data: { status: 'completed' } };

/** What the client of the page exports. */
interface QueryClient {
  ask(
    endpoint: string,
    query: object,
    on: { envelope(envelope: Envelope): void; run?(run: string): void; lost?(error: Error): void },
  ): Promise<{ status: string }>;
  cancel(run: string): Promise<{ status: string }>;
  Refused: new () => Error;
}

function textOf(envelopes: Envelope[]): string {
  return envelopes
    .filter(({ type }) => type === 'message')
    .map(({ data }) => (data as { content: string }).content)
    .join('');
}

function question(text: string, kwargs: object = {}) {
  return { parts: [{ type: 'text', text }], kwargs };
}

describe('The Nest application', () => {
  let host: ChildProcess;
  let url: string;

  beforeAll(async () => {
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    await run(process.execPath, [tsc, '-p', 'examples/nest-host', ...WITHOUT_TYPES], { cwd: ROOT });
    host = spawn(process.execPath, ['examples/nest-host/dist/main.js'], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], PORT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    host.stderr!.on('data', (chunk: Buffer) => (output += chunk.toString()));
    url = await new Promise<string>((listening, failed) => {
      host.stdout!.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        const [, address] = /^Open (\S+)\/$/m.exec(output) ?? [];
        if (address) listening(address);
      });
      host.once('exit', () => failed(new Error(output)));
    });
  });

  afterAll(async () => {
    const exited = once(host, 'exit');
    host.kill();
    await exited;
    await rm(join(EXAMPLES, 'nest-host/dist'), { recursive: true });
  });

  it('answers with what its handler is injected with', async () => {
    const response = await ask(url, 'What do you have about patience?', { kwargs: { pauseMs: 0 } });
    expect(answerOf(await response.whole())).toEqual({
      text: '"The Queue" is about patience. ',
      done: [{ status: 'completed' }],
    });
  });

  it('knows the earlier questions of a conversation', async () => {
    const kwargs = { pauseMs: 0, session_id: 'conversation' };
    await (await ask(url, 'birds', { kwargs })).whole();
    const second = await (await ask(url, 'rivers', { kwargs })).whole();
    expect(second).toContain('{"type":"log","data":{"message":"Question 2 of this conversation"}}');
  });

  it('serves the page and its client on the origin of the endpoint', async () => {
    const page = await fetch(`${url}/`);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const client = await fetch(`${url}/query-client.js`);
    expect([client.status, client.headers.get('content-type')]).toEqual([
      200,
      'text/javascript; charset=utf-8',
    ]);
  });
});

describe('The agent of one file', () => {
  let service: SharedService;
  beforeAll(async () => (service = await serve({ AGENT: './examples/agent.mjs' }, ROOT)));
  afterAll(() => service.stop());

  it('answers texts and files', async () => {
    const response = await fetch(`${service.url}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        parts: [
          { type: 'text', text: 'one two' },
          { type: 'file', name: 'a.txt', mimeType: 'text/plain', base64: 'SGk=' },
        ],
        kwargs: { pauseMs: 0 },
      }),
    });
    expect(await response.text()).toBe(
      'data: {"type":"message","data":{"content":"ONE "}}\n\n' +
        'data: {"type":"message","data":{"content":"TWO "}}\n\n' +
        'data: {"type":"log","data":{"message":"a.txt: 2 bytes, text/plain"}}\n\n' +
        'data: {"type":"done","data":{"status":"completed"}}\n\n',
    );
  });
});

describe.each([
  ['python3 examples/command/agent.py', ['ONE ', 'TWO ']],
  ['node examples/command/agent.mjs', ['ONE ', 'TWO ']],
])('The program %s', (command, words) => {
  let service: SharedService;
  beforeAll(async () => (service = await serve({ AGENT: 'command', COMMAND: command }, ROOT)));
  afterAll(() => service.stop());

  it('answers texts and files, and knows the earlier questions of a conversation', async () => {
    const kwargs = { pauseMs: 0, session_id: 'conversation' };
    const parts = [
      { type: 'text', text: 'one two' },
      { type: 'file', name: 'a.txt', mimeType: 'text/plain', base64: 'SGk=' },
    ];
    const query = () =>
      fetch(`${service.url}/query`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ parts, kwargs }),
      }).then((response) => response.text());
    const answer =
      words.map((content) => dataLine({ type: 'message', data: { content } })).join('') +
      dataLine({ type: 'log', data: { message: 'a.txt: 2 bytes, text/plain' } }) +
      dataLine(DONE);
    expect(await query()).toBe(answer);
    const second = dataLine({ type: 'log', data: { message: 'Question 2 of this conversation' } });
    expect(await query()).toBe(second + answer);
  });
});

describe('The program examples/command/agent.sh', () => {
  it('answers with lines of text and of JSON, and writes to the log', async () => {
    const service = await serve({ AGENT: 'command', COMMAND: 'sh examples/command/agent.sh' }, ROOT);
    const answer = await (await ask(service.url, 'hello')).whole();
    await service.stop();
    expect(answer).toContain(dataLine({ type: 'message', data: { content: '42\n' } }));
    expect(answer).toContain('{"type":"log","data":{"message":"A line of JSON may be any envelope"}}');
    await eventuallyElsewhere(() =>
      /Run [0-9a-f-]{36}: The query has \d+ characters\./.test(service.output()),
    );
  });
});

describe('The program examples/command/approval.py', () => {
  it('asks, and is started again with the answer', async () => {
    const service = await serve({ AGENT: 'command', COMMAND: 'python3 examples/command/approval.py' }, ROOT);
    const reply = await ask(service.url, 'hello', { headers: FULL });
    await reply.until('input_required');
    const answers = [{ id: 'refund-881', outcome: 'answered', value: { approved: true } }];
    await request(service.url, { path: `/query/${reply.runId}/inputs` }, JSON.stringify({ answers }));
    expect(await reply.answer()).toEqual({
      text: 'Let me see. 120 EUR are refunded.',
      done: [{ status: 'completed' }],
    });
    await service.stop();
  });
});

/** The line of a stream that carries an envelope, in the plain profile. */
function dataLine(envelope: Envelope): string {
  return `data: ${JSON.stringify(envelope)}\n\n`;
}

describe('The page', () => {
  const html = readFileSync(join(EXAMPLES, 'browser/index.html'), 'utf8');
  const [, script] = /<script type="module">([^]*?)<\/script>/.exec(html)!;

  it('has a script without a syntax error, which uses elements that are there', () => {
    const { diagnostics } = ts.transpileModule(script!, {
      reportDiagnostics: true,
      fileName: 'page.js',
      compilerOptions: { allowJs: true, module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
    });
    expect(diagnostics).toEqual([]);
    const used = [...script!.matchAll(/element\('(\w+)'\)/g)].map(([, id]) => `id="${id}"`);
    expect(used.length).toBeGreaterThan(5);
    expect(used.filter((id) => !html.includes(id))).toEqual([]);
  });

  describe('has a client that', () => {
    let service: SharedService;
    let client: QueryClient;

    beforeAll(async () => {
      service = await serve({ AGENT: './examples/agent.mjs' }, ROOT);
      client = (await import(join(EXAMPLES, 'browser/query-client.js'))) as QueryClient;
    });
    afterAll(() => service.stop());

    it('asks, and reports each envelope and the end', async () => {
      const envelopes: Envelope[] = [];
      const runs: string[] = [];
      const end = await client.ask(`${service.url}/query`, question('one two', { pauseMs: 0 }), {
        envelope: (envelope) => envelopes.push(envelope),
        run: (address) => runs.push(address),
      });
      expect(end).toEqual({ status: 'completed' });
      expect([textOf(envelopes), envelopes.at(-1)]).toEqual(['ONE TWO ', DONE]);
      expect(runs).toEqual([expect.stringMatching(`^${service.url}/query/[0-9a-f-]{36}$`)]);
    });

    it('resumes after lost connections, without a gap or a repeat', async () => {
      const line = await startLine(service.url, [700, 500]);
      const words = Array.from({ length: 20 }, (_, index) => `w${index}`);
      const envelopes: Envelope[] = [];
      let lost = 0;
      const end = await client.ask(`${line.url}/query`, question(words.join(' '), { pauseMs: 20 }), {
        envelope: (envelope) => envelopes.push(envelope),
        lost: () => lost++,
      });
      line.close();
      expect(end).toEqual({ status: 'completed' });
      expect(lost).toBe(2);
      expect(textOf(envelopes)).toBe(words.map((word) => `${word.toUpperCase()} `).join(''));
      expect(envelopes.at(-1)).toEqual(DONE);
    });

    it('asks once, although the answer to its first request is lost', async () => {
      const line = await startLine(service.url, [0]);
      const envelopes: Envelope[] = [];
      const kwargs = { pauseMs: 0, session_id: 'once' };
      await client.ask(`${line.url}/query`, question('one', kwargs), {
        envelope: (envelope) => envelopes.push(envelope),
      });
      line.close();
      expect(textOf(envelopes)).toBe('ONE ');
      const session = await fetch(`${service.url}/query/sessions/once`);
      expect(((await session.json()) as { turns: unknown[] }).turns).toHaveLength(1);
    });

    it('cancels', async () => {
      let cancelled: Promise<{ status: string }> | undefined;
      const end = await client.ask(`${service.url}/query`, question('one two', { pauseMs: 60_000 }), {
        envelope: () => undefined,
        run: (address) => void (cancelled = client.cancel(address)),
      });
      expect(end).toEqual({ status: 'cancelled' });
      expect(await cancelled).toMatchObject({ status: 'cancelled' });
    });

    it('says why it was refused', async () => {
      const asking = client.ask(`${service.url}/query`, { parts: [] }, { envelope: () => undefined });
      await expect(asking).rejects.toMatchObject({ status: 400, code: 'invalid_query' });
      await expect(asking).rejects.toBeInstanceOf(client.Refused);
    });
  });
});

/**
 * A connection to a service that is cut.
 *
 * @param cuts after how many bytes of a response: the first number is for the first connection, and so on
 */
async function startLine(target: string, cuts: number[]): Promise<{ url: string; close: () => Server }> {
  const { hostname, port } = new URL(target);
  const server = createServer((caller) => {
    let left = cuts.shift() ?? Infinity;
    const service = connect(Number(port), hostname);
    service.on('data', (chunk) => {
      caller.write(chunk.subarray(0, left));
      left -= chunk.length;
      if (left <= 0) caller.destroy();
    });
    caller.pipe(service).on('close', () => caller.destroy());
    caller.on('close', () => service.destroy()).on('error', () => undefined);
    service.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: own } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${own}`, close: () => server.close() };
}
