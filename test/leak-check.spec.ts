import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { LeakCheck } from './support/leak-check.mjs';

describe('The check at the end of each suite', () => {
  const check = new LeakCheck();
  beforeEach(() => check.start());
  afterEach(() => check.stop());

  it('finds a server and a socket until they are closed', async () => {
    const server = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    expect(await check.leaksAfter(0)).toEqual(['a server that listens']);
    const accepted = once(server, 'connection');
    const socket = connect((server.address() as { port: number }).port, '127.0.0.1');
    await accepted;
    expect((await check.leaksAfter(0)).sort()).toEqual(['a server that listens', 'a socket', 'a socket']);
    socket.destroy();
    server.close();
    expect(await check.leaksAfter(10_000)).toEqual([]);
  });

  it('finds a timer until it is cleared', async () => {
    const timer = setTimeout(() => undefined, 60_000);
    expect(await check.leaksAfter(0)).toEqual(['a timer']);
    clearTimeout(timer);
    expect(await check.leaksAfter(10_000)).toEqual([]);
  });

  it('finds a child process and a worker thread until they end', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    const worker = new Worker('setInterval(() => {}, 1000)', { eval: true });
    expect(await check.leaksAfter(0)).toEqual(['a child process', 'a worker thread']);
    child.kill();
    await worker.terminate();
    expect(await check.leaksAfter(10_000)).toEqual([]);
  });

  it('ends a child process that is left, and no other one', async () => {
    const left = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    const kept = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    kept.unref();
    const ended = once(left, 'exit');
    check.endChildren();
    expect(await ended).toEqual([null, 'SIGKILL']);
    expect([kept.exitCode, kept.signalCode]).toEqual([null, null]);
    kept.ref();
    kept.kill();
    await once(kept, 'exit');
  });

  it('finds a spool directory of this process until it is removed', async () => {
    const name = `nest-agent-query-00000000-${process.pid}-1-000000000000`;
    await mkdir(join(tmpdir(), name));
    expect(await check.leaksAfter(0)).toEqual([`the spool directory ${name}`]);
    await rm(join(tmpdir(), name), { recursive: true });
    expect(await check.leaksAfter(10_000)).toEqual([]);
  });
});
