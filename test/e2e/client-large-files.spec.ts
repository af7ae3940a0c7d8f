import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AgentQueryClient } from '../../packages/client/src/index.js';
import { MemoryRunStore, message, type RunStore } from '../../src/index.js';
import { promise } from '../promises.js';
import { SlowRunStore } from '../support/slow-run-store.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';

const LARGE = Buffer.alloc(8 * 1024 * 1024, 'nest');
const SHA256 = createHash('sha256').update(LARGE).digest('hex');
const LENGTH = LARGE.length;

describeOnOneAdapter('A large file of the typed client, of a service on %s,', (adapter) => {
  let host: Host;
  let store: RunStore;
  let client: AgentQueryClient;
  /** The requests: method, path, and whether the body is JSON. */
  let requests: string[];

  const start = async () => {
    host = await startAgent(
      adapter,
      async function* ({ parts }) {
        for (const part of parts) if (part.type === 'file') yield message(`${part.name} ${part.sha256} `);
      },
      { store },
    );
    requests = [];
    client = new AgentQueryClient({
      baseUrl: host.url,
      fetch: (url, init) => {
        requests.push(`${init!.method} ${new URL(url).pathname}`);
        return fetch(url, init);
      },
    });
  };
  beforeEach(() => (store = new MemoryRunStore()));
  afterEach(() => host.close());
  const SENT = [`HEAD /query/files/${SHA256}`, 'POST /query/files', 'POST /query'];
  const KNOWN = [`HEAD /query/files/${SHA256}`, 'POST /query'];

  it(promise('client.large-files', 'of every kind that can be read again'), async () => {
    await start();
    const folder = await mkdtemp(join(tmpdir(), 'client-'));
    const path = join(folder, 'disk.bin');
    await writeFile(path, LARGE);
    let progress: [sentBytes: number, totalBytes: number | undefined][] = [];
    const files = [{ name: 'é', content: LARGE }, new File([LARGE], 'blob'), path, Buffer.from('small')];
    const onUpload = (...told: (typeof progress)[number]) => progress.push(told);
    expect(await client.ask('Hi', { files, onUpload }).text()).toBe(
      `é ${SHA256} blob ${SHA256} disk.bin ${SHA256} file ${createHash('sha256').update('small').digest('hex')} `,
    );
    expect(requests).toEqual([SENT[0], SENT[1], SENT[0], SENT[0], SENT[2]]);
    // The large file was sent once, and the progress tells that it grew from its first bytes to its last.
    const sent = progress.filter(([, total]) => total === LENGTH).map(([bytes]) => bytes);
    expect(sent.length).toBeGreaterThan(1);
    expect(sent).toEqual([...new Set(sent)].sort((one, other) => one - other));
    expect(sent.at(-1)).toBe(LENGTH);
    [requests, progress] = [[], []];
    await client.ask('Again', { files: [path], onUpload }).text();
    expect([requests, progress]).toEqual([KNOWN, []]);
    await rm(folder, { recursive: true });
  });

  it(promise('client.large-files', 'of a service whose store does not take them'), async () => {
    const memory = new MemoryRunStore();
    store = Object.assign(new SlowRunStore(() => 0, false, memory), { uploads: undefined });
    await start();
    for (const expected of [SENT, ['POST /query']]) {
      requests = [];
      expect(await client.ask('Hi', { files: [new Blob([LARGE])] }).text()).toBe(`file ${SHA256} `);
      expect(requests).toEqual(expected);
    }
    await host.idle();
    await memory.close();
  });

  it(promise('client.large-files', 'that the service has dropped since'), async () => {
    const memory = new MemoryRunStore();
    store = memory;
    await start();
    const { uploads } = memory;
    const find = uploads.find.bind(uploads);
    // HEAD finds it, the query does not.
    let asked = 0;
    uploads.find = (...of) => (++asked === 1 ? { size: LENGTH, read: () => find(...of)!.read() } : undefined);
    expect(await client.ask('Hi', { files: [LARGE] }).text()).toBe(`file ${SHA256} `);
    expect(requests).toEqual([...KNOWN, 'POST /query']);
  });
});
