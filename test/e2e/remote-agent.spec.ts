import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { InputView } from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, cancel, FULL, get, type Reply, request } from '../support/client.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { IS_LONG } from '../support/long-form.js';
import { serve, type SharedService, startService } from '../support/service.js';

/** Says words, and stores a checkpoint after each. It notes the run at each attempt, and that it has stopped. */
const AGENT = `
import { createHash } from 'node:crypto';
import { appendFileSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
export const restarts = 1000;
export default async function* ({ parts, kwargs }, { runId, signal, resumed, checkpoint }) {
  appendFileSync('calls', runId + '\\n');
  for (const part of parts) {
    if (part.type !== 'file') continue;
    const hash = createHash('sha256');
    for await (const chunk of part.file.stream()) hash.update(chunk);
    yield { type: 'digest', data: { name: part.name, digest: hash.digest('hex') } };
  }
  try {
    for (let next = resumed?.state?.next ?? 1; next <= kwargs.words; next += 1) {
      yield { type: 'message', data: { content: 'word ' + next + ' ' } };
      await checkpoint({ next: next + 1 });
    }
    if (kwargs.waits) await new Promise((stop) => signal.addEventListener('abort', stop));
  } finally {
    if (kwargs.waits) {
      await pause(300);
      writeFileSync('stopped', '');
    }
  }
}`;

/** Asks for a refund, and says what has become of it. */
const ASKING = `
export default async function* (_, { ask }) {
  yield { type: 'message', data: { content: 'Let me see. ' } };
  const question = { key: 'refund-881', kind: 'approval', message: 'Refund?', expiresInMs: 3_600_000 };
  const [{ outcome, value }] = await ask([question], { checkpoint: null });
  yield { type: 'message', data: { content: outcome + ' ' + JSON.stringify(value) } };
}`;

function wordsUpTo(count: number): string {
  return Array.from({ length: count }, (_, index) => `word ${index + 1} `).join('');
}

describe('The agent remote of the service', () => {
  let directory: string;
  let inner: SharedService;
  let proxy: CuttingProxy;
  let outer: SharedService;
  /** What a test has started besides. */
  const ofTest: { stop(): Promise<unknown> }[] = [];

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'remote-'));
    await writeFile(join(directory, 'agent.mjs'), AGENT);
    inner = await serve({ AGENT: './agent.mjs' }, directory);
    proxy = await CuttingProxy.before(inner.url);
    outer = await serve(remote(`${proxy.url}/`), directory);
  });

  afterEach(async () => {
    for (const each of ofTest.splice(0).reverse()) await each.stop();
  });

  afterAll(async () => {
    await outer.stop();
    await proxy.stop();
    await inner.stop();
    await rm(directory, { recursive: true });
  });

  const remote = (url: string) => ({ AGENT: 'remote', REMOTE_URL: url });
  const calls = async () => (await readFile(join(directory, 'calls'), 'utf8')).trimEnd().split('\n');

  it(promise('remote.answer'), async () => {
    const content = randomBytes(200_000);
    const digest = createHash('sha256').update(content).digest('hex');
    const file = { type: 'file', name: 'a.bin', mimeType: 'x/y', base64: content.toString('base64') };
    const body = JSON.stringify({ parts: [{ type: 'text', text: 'Hi' }, file], kwargs: { words: 2 } });
    expect(await (await request(outer.url, {}, body)).allEnvelopes()).toEqual([
      { type: 'digest', data: { name: 'a.bin', digest } },
      { type: 'message', data: { content: 'word 1 ' } },
      { type: 'message', data: { content: 'word 2 ' } },
      { type: 'done', data: { status: 'completed' } },
    ]);
  });

  it(promise('files.answer', 'of a remote agent, also if its download is cut'), async () => {
    await writeFile(
      join(directory, 'files.mjs'),
      `export default async function* () {
        yield { type: 'file', data: { name: 'a.bin', mimeType: 'x/y', content: new Uint8Array(3_000_000).fill(7) } };
        yield { type: 'message', data: { content: 'Here it is.' } };
      }`,
    );
    const inner = await serve({ AGENT: './files.mjs' }, directory);
    const proxy = await CuttingProxy.before(inner.url);
    const outer = await serve(remote(proxy.url), directory);
    ofTest.push(inner, proxy, outer);
    const content = Buffer.alloc(3_000_000, 7);
    for (const position of [undefined, 500, 100_000, 2_900_000]) {
      if (position !== undefined) proxy.cutAfter(position);
      const reply = await ask(outer.url, 'x');
      const sha256 = createHash('sha256').update(content).digest('hex');
      const path = `/query/${reply.runId}/files/${sha256}`;
      expect(await reply.allEnvelopes()).toEqual([
        { type: 'file', data: { name: 'a.bin', mimeType: 'x/y', size: 3_000_000, sha256, path } },
        { type: 'message', data: { content: 'Here it is.' } },
        { type: 'done', data: { status: 'completed' } },
      ]);
      const download = await get(outer.url, path);
      await download.whole();
      expect(download.bytes.equals(content)).toBe(true);
    }
    expect(proxy.cuts).toBeGreaterThan(1);
  });

  it(promise('remote.cut'), async () => {
    const words = 12;
    const count = IS_LONG ? 40 : 13;
    const positions = Array.from({ length: count }, (_, index) => Math.floor((index * 40 * 37) / count));
    await rm(join(directory, 'calls'), { force: true });
    for (const position of positions) {
      proxy.cutAfter(position);
      const reply = await ask(outer.url, 'x', { headers: FULL, kwargs: { words } });
      const events = await reply.allEvents();
      expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => `${reply.runId}.${index + 1}`));
      expect([position, await reply.answer()]).toEqual([
        position,
        { text: wordsUpTo(words), done: [{ status: 'completed' }] },
      ]);
    }
    expect(proxy.cuts).toBeGreaterThan(positions.length / 2);
    expect(await calls()).toHaveLength(positions.length);
    proxy.cutAfter(Infinity);
  });

  it(promise('remote.cancel'), async () => {
    const reply = await ask(outer.url, 'x', { headers: FULL, kwargs: { words: 1, waits: true } });
    await reply.until('word 1');
    const { status } = await cancel(outer.url, reply.runId);
    expect(status).toBe(200);
    expect(existsSync(join(directory, 'stopped'))).toBe(true);
    expect((await reply.answer()).done).toEqual([{ status: 'cancelled' }]);
  });

  describe('whose remote agent asks', () => {
    let inner: SharedService;
    let outer: SharedService;

    beforeAll(async () => {
      await writeFile(join(directory, 'asking.mjs'), ASKING);
      inner = await serve({ AGENT: './asking.mjs' }, directory);
      outer = await serve(remote(inner.url), directory);
    });

    afterAll(async () => {
      await outer.stop();
      await inner.stop();
    });

    /** Sends a query to the outer service. Returns its answer so far, and the run of the inner service. */
    async function asking() {
      const reply = await ask(outer.url, 'x', { headers: FULL });
      await reply.until('input_required');
      const { runs } = await (await get(inner.url, '/query')).json<{ runs: { id: string }[] }>();
      return { reply, innerRun: runs[0]!.id };
    }

    function answer({ url }: SharedService, runId: string, approved: boolean): Promise<Reply> {
      const answers = [{ id: 'refund-881', outcome: 'answered', value: { approved } }];
      return request(url, { path: `/query/${runId}/inputs` }, JSON.stringify({ answers }));
    }

    const inputsOf = async ({ url }: SharedService, runId: string) =>
      (await (await get(url, `/query/${runId}/inputs`)).json<{ inputs: InputView[] }>()).inputs;

    it(promise('asking.remote'), async () => {
      const { reply, innerRun } = await asking();
      const [[here], [there]] = [await inputsOf(outer, reply.runId), await inputsOf(inner, innerRun)];
      expect(here).toMatchObject({ id: 'refund-881', kind: 'approval', message: 'Refund?' });
      expect(Math.abs(Date.parse(here!.expiresAt) - Date.parse(there!.expiresAt))).toBeLessThan(5_000);
      expect((await answer(outer, reply.runId, true)).status).toBe(200);
      expect(await reply.answer()).toEqual({
        text: 'Let me see. answered {"approved":true}',
        done: [{ status: 'completed' }],
      });
      expect(await inputsOf(inner, innerRun)).toMatchObject([{ resolved: { outcome: 'answered' } }]);
    });

    it(promise('asking.remote-elsewhere'), async () => {
      const { reply, innerRun } = await asking();
      await answer(inner, innerRun, false);
      await answer(outer, reply.runId, true);
      const envelopes = await reply.allEnvelopes();
      expect(envelopes.slice(-3)).toEqual([
        {
          type: 'log',
          data: { message: 'The remote agent had its answer already, and goes on with that one.' },
        },
        { type: 'message', data: { content: 'answered {"approved":false}' } },
        { type: 'done', data: { status: 'completed' } },
      ]);
    });

    it(promise('asking.remote-elsewhere', 'also if it was cancelled there'), async () => {
      const { reply, innerRun } = await asking();
      await cancel(inner.url, innerRun);
      await answer(outer, reply.runId, true);
      const message = 'The run was cancelled in the remote service.';
      expect((await reply.answer()).done).toEqual([
        { status: 'failed', error: { code: 'handler_failed', message } },
      ]);
    });

    it(promise('asking.remote-cancel'), async () => {
      const { reply, innerRun } = await asking();
      expect((await cancel(outer.url, reply.runId)).status).toBe(200);
      const run = await (await get(inner.url, `/query/${innerRun}`)).json();
      expect(run).toMatchObject({ status: 'cancelled' });
      expect((await reply.answer()).done).toEqual([{ status: 'cancelled' }]);
    });
  });

  it(promise('remote.large-file'), async () => {
    const outer = await startService(remote(inner.url), directory);
    ofTest.push(outer);
    const chunk = randomBytes(3 * 1024 * 1024);
    const chunks = 34;
    const hash = createHash('sha256');
    async function* body() {
      yield '{"parts":[{"type":"file","name":"a.bin","mimeType":"x/y","base64":"';
      for (let count = 0; count < chunks; count += 1) {
        hash.update(chunk);
        yield chunk.toString('base64');
      }
      yield '"}]}';
    }
    const reply = await request(outer.url, {}, body());
    expect((await reply.allEnvelopes())[0]).toEqual({
      type: 'digest',
      data: { name: 'a.bin', digest: hash.digest('hex') },
    });
    const status = await readFile(`/proc/${outer.process.pid}/status`, 'utf8');
    const peakMiB = Number(/^VmHWM:\s+(\d+) kB/m.exec(status)![1]) / 1024;
    expect(peakMiB).toBeLessThan(300);
  });
});
