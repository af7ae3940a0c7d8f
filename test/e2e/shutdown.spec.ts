import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { pathToFileURL } from 'node:url';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { message, QueryModule } from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, request } from '../support/client.js';
import { eventuallyElsewhere } from '../support/conditions.js';
import { TLS_FILE } from '../support/faulty-proxy.js';
import { holdHalfRequests } from '../support/half-requests.js';
import { adapterNamed, describeOnBothAdapters, startHost } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';
import { refusalOf, serve, startService } from '../support/service.js';

/** Connections that never send a complete request, as Node's `fetch` leaves them after an abort. */
async function holdConnections(url: string): Promise<Socket[]> {
  const { hostname, port } = new URL(url);
  const beginnings = ['', 'POST /query HTTP/1.1\r\nHost: a\r\n', 'GET'];
  const sockets = beginnings.map((text) => {
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.on('error', () => undefined);
    return socket;
  });
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  return sockets;
}

/** Sends half a JSON body to a route whose bodies the parsers of the adapter read. */
async function beginJson(url: string, path: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
  );
  return socket;
}

describeOnBothAdapters('A host on %s that is closed', (adapter) => {
  it(promise('module.connections'), async () => {
    const agent = new ScriptedAgent();
    const host = await startHost(adapter, QueryModule.forRoot({ handler: agent.handler }), undefined, {});
    const asked = await ask(host.url);
    (await agent.call(1)).finish();
    await asked.whole();
    const sockets = await holdConnections(host.url);
    const closed = sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    await host.close();
    await Promise.all(closed);
  });
});

/** Asks at once over a connection of its own; resolves with all that is answered. */
function asked(socket: Socket): Promise<string> {
  const body = '{"parts":[{"type":"text","text":"Hi"}]}';
  const head = `POST /query HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  socket.write(head + body);
  return text(socket);
}

const CONNECTING = {
  TCP: { options: {}, open: (port: number) => connect(port, '127.0.0.1') },
  TLS: {
    options: { httpsOptions: { cert: readFileSync(TLS_FILE), key: readFileSync(TLS_FILE) } },
    open: (port: number) => connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }),
  },
};

describe.each(['TCP', 'TLS'] as const)('A host that is closed while callers connect over %s', (kind) => {
  const { options, open } = CONNECTING[kind];

  it.each(kind === 'TCP' ? (['express', 'fastify'] as const) : (['express'] as const))(
    promise('module.connected-before', 'on %s'),
    async (adapter) => {
      const handler = async function* () {
        yield message('Hello');
      };
      const host = await startHost(adapter, QueryModule.forRoot({ handler }), undefined, options);
      // The system accepts these at once. The process does so later: it is here.
      const answers = Array.from({ length: kind === 'TCP' ? 10 : 3 }, () =>
        asked(open(Number(new URL(host.url).port))),
      );
      await host.close();
      for (const answer of await Promise.all(answers)) {
        expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
        expect(answer).toContain('"status":"completed"');
      }
    },
  );
});

describe('A host with several modules that is closed', () => {
  it(promise('module.connected-before', 'on a socket of Unix'), async () => {
    const directory = await mkdtemp(join(tmpdir(), 'socket-'));
    const path = join(directory, 's.sock');
    const handler = async function* () {
      yield message('Hello');
    };
    const modules = [
      QueryModule.forRoot({ handler }),
      QueryModule.forRoot({ handler, name: 'b', path: 'b' }),
    ];
    @Module({ imports: modules })
    class HostModule {}
    const app = await NestFactory.create(HostModule, adapterNamed('express'), { logger: false });
    await app.listen(path);
    const answers = Array.from({ length: 5 }, () => asked(connect(path)));
    await app.close();
    for (const answer of await Promise.all(answers)) expect(answer).toContain('"status":"completed"');
    await rm(directory, { recursive: true });
  });
});

describe('The standalone service that gets a signal', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'shutdown-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  it(promise('service.shutdown', 'and while they send half a request, or stop reading'), async () => {
    const agent = join(directory, 'large.mjs');
    const types = pathToFileURL(resolve(import.meta.dirname, '../../dist/index.js')).href;
    await writeFile(
      agent,
      `import { file } from '${types}';
      export default async function* () { yield file({ content: Buffer.alloc(20_000_000) }); }`,
    );
    const service = await startService({ AGENT: agent, DRAIN_MS: '100' });
    const asked = await ask(service.url);
    const [first] = await asked.allEnvelopes();
    const { sha256 } = first!.data as { sha256: string };
    expect(sha256).toHaveLength(64);
    const sockets = await holdHalfRequests(service.url, `/query/${asked.runId}/files/${sha256}`);
    sockets.push(await beginJson(service.url, '/nothing'));
    const silent = await holdConnections(service.url);
    const closed = (held: Socket[]) =>
      Promise.all(held.map((socket) => new Promise((resolve) => socket.once('close', resolve))));
    const [others, silentOnes] = [closed(sockets), closed(silent)];
    expect(await service.stop()).toBe(0);
    expect(service.output()).not.toContain('has not stopped');
    await silentOnes;
    for (const socket of sockets) socket.destroy();
    await others;
  });

  it(promise('service.output-gone'), async () => {
    const main = resolve(import.meta.dirname, '../../dist/main.js');
    const env = { PATH: process.env['PATH'], PORT: '0', DATABASE_URL: 'memory:' };
    const service: ChildProcess = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    let url: string | undefined;
    while (!url) {
      output += String(((await once(service.stdout!, 'data')) as [Buffer])[0]);
      url = /http:\/\/\S+(?=\/query\n)/.exec(output)?.[0];
    }
    service.stdout!.destroy();
    service.stderr!.destroy();
    const missing =
      '{"parts":[{"type":"file","name":"a.bin","mimeType":"application/pdf","base64":"JVBERi0xLjcK"}]}';
    expect((await (await request(url, {}, missing)).allEnvelopes()).at(-1)).toMatchObject({ type: 'done' });
    const exited = once(service, 'exit');
    // The shutdown writes a line to the output that is gone.
    service.kill('SIGTERM');
    expect((await exited)[0]).toBe(0);
  });

  it(promise('service.log-full'), async () => {
    const directory = await mkdtemp(join(tmpdir(), 'full-log-'));
    const log = join(directory, 'log');
    const main = resolve(import.meta.dirname, '../../dist/main.js');
    const env = { PATH: process.env['PATH'], PORT: '0', DATABASE_URL: 'memory:' };
    // stdout is a file that may have 16 blocks, and nothing can be written to stderr.
    const command = 'ulimit -f 16; exec "$0" "$1" >> "$2" 2> /dev/full';
    const service = spawn('sh', ['-c', command, process.execPath, main, log], { env, stdio: 'ignore' });
    const exited = once(service, 'exit');
    let url: string | undefined;
    await eventuallyElsewhere(async () => {
      url = /http:\/\/[^\s"]+/.exec(await readFile(log, 'utf8').catch(() => ''))?.[0];
      return url !== undefined;
    });
    const kwargs = { session_id: 's'.repeat(190) };
    for (let round = 0; round < 40; round++) expect((await ask(url!, '', { kwargs })).status).toBe(200);
    await truncate(log);
    await (await ask(url!, '')).whole();
    const lost = /"\d+ entries of the log are lost: the output could not be written \(EFBIG\)\."/;
    await eventuallyElsewhere(async () => lost.test(await readFile(log, 'utf8')));
    service.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    await rm(directory, { recursive: true });
  });

  it(promise('service.problems'), async () => {
    const service = await serve();
    const unknown = await request(service.url, { method: 'GET', path: '/nothing' });
    expect([unknown.status, unknown.headers['content-type'], await unknown.whole()]).toEqual([
      404,
      'application/problem+json',
      '{"type":"about:blank","title":"Not Found","status":404,"detail":"Cannot GET /nothing","code":"not_found"}',
    ]);
    const invalid = await request(service.url, { method: 'GET', path: '/query/%zz' });
    expect([invalid.status, invalid.headers['content-type'], await invalid.whole()]).toEqual([
      400,
      'application/problem+json',
      '{"type":"about:blank","title":"Bad Request","status":400,"detail":"The path of the request is not a valid URL.","code":"invalid_query"}',
    ]);
    await service.stop();
  });

  it(promise('service.environment', 'a spool directory that cannot be made'), async () => {
    const file = join(directory, 'file');
    await writeFile(file, '');
    expect((await refusalOf({ SPOOL_DIRECTORY: join(file, 'spool') })).message).toBe(
      `nest-agent-query cannot start.\nSPOOL_DIRECTORY is "${join(file, 'spool')}"; it must be a directory that the service can write (ENOTDIR).\n`,
    );
  });
});
