import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { request } from '../../support/client.js';
import { eventuallyElsewhere } from '../../support/conditions.js';
import type { Cluster } from '../../support/cluster/cluster.js';
import type { Member } from '../../support/cluster/member.js';
import { clusterSuite } from '../../support/cluster/suite.js';
import { promise } from '../../promises.js';

/** Several chunks of the database, and larger than what is kept in memory. */
const LARGE = Buffer.alloc(3_000_000, Array.from({ length: 253 }, (_, index) => index) as never);
const SHA256 = createHash('sha256').update(LARGE).digest('hex');
const PART = { type: 'file', name: 'a', mimeType: 'application/octet-stream', sha256: SHA256 };

describe('A file before its query, in several processes', () => {
  const suite = clusterSuite(
    { a: { role: 'api' }, b: { role: 'api' }, worker: { role: 'worker' } },
    { runs: { drainMs: 1_000, stopDeadlineMs: 500 } },
  );
  let cluster: Cluster;
  beforeEach(() => ({ cluster } = suite));

  const send = (member: Member, body: Buffer) =>
    request(
      member.url,
      { path: '/query/files', headers: { 'content-type': 'application/octet-stream' } },
      body,
    );
  const head = async (member: Member) =>
    (await request(member.url, { method: 'HEAD', path: `/query/files/${SHA256}` })).status;
  /** The temporary files of a process. */
  const spooled = async ({ pid }: Member) => {
    const own = (await readdir(tmpdir())).filter((name) => name.includes(`-${pid}-`));
    return (await Promise.all(own.map((name) => readdir(join(tmpdir(), name))))).flat();
  };
  /** What the database has of files. */
  const kept = () =>
    cluster.select(
      `select (select count(*) from schema.contents) contents, (select count(*) from schema.chunks) chunks,
        (select count(*) from schema.file_uses) uses, (select count(*) from schema.files) files`,
    );

  /** Sends the head of a file, and all of its bytes but the last. */
  async function begin(member: Member): Promise<Socket> {
    const socket = connect(Number(new URL(member.url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`POST /query/files HTTP/1.1\r\nHost: a\r\nContent-Length: ${LARGE.length}\r\n\r\n`);
    socket.write(LARGE.subarray(1));
    await eventuallyElsewhere(async () => (await spooled(member)).length === 1);
    return socket;
  }

  it(promise('uploads.no-leftover', 'also not in the database'), async () => {
    const a = cluster.member('a');
    const socket = await begin(a);
    socket.destroy();
    await eventuallyElsewhere(async () => (await spooled(a)).length === 0);
    expect(await kept()).toEqual([{ contents: '0', chunks: '0', uses: '0', files: '0' }]);
    expect(await head(a)).toBe(404);
  });

  it(promise('uploads.drain'), async () => {
    const [completed, silent] = [await cluster.add('completed'), await cluster.add('silent')];
    const [sender, other] = [await begin(completed), await begin(silent)];
    const ends = [completed.stop(), silent.stop()];
    await Promise.all([completed, silent].map((member) => eventuallyElsewhere(() => member.isClosed())));
    sender.write(LARGE.subarray(0, 1));
    const answer = await text(sender);
    expect(answer).toMatch(/^HTTP\/1\.1 503 [^]*\r\nretry-after: 1\r\n[^]*"code":"draining"/i);
    await once(other.resume(), 'close');
    expect(await Promise.all(ends)).toEqual([0, 0]);
    for (const member of [completed, silent]) expect(await spooled(member)).toEqual([]);
    expect(await kept()).toEqual([{ contents: '0', chunks: '0', uses: '0', files: '0' }]);
  });

  it(promise('cluster.uploads'), async () => {
    const [a, b] = [cluster.member('a'), cluster.member('b')];
    expect((await send(a, LARGE)).status).toBe(201);
    expect(await head(b)).toBe(200);
    const query = { parts: [PART], kwargs: { steps: [{ files: 1 }] } };
    const replies = await Promise.all([a, b].map(({ url }) => request(url, {}, JSON.stringify(query))));
    for (const reply of replies) expect((await reply.answer()).text).toBe(`${SHA256} ${LARGE.length} `);
    const executions = await cluster.executions();
    expect(new Set(executions.map(({ process }) => process))).toEqual(new Set(['worker']));
    expect(await kept()).toMatchObject([{ contents: '1', chunks: '6' }]);
    for (const member of [a, b, cluster.member('worker')])
      await eventuallyElsewhere(async () => (await spooled(member)).length === 0);
  });
});
