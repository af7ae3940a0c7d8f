import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { jest } from '@jest/globals';
import { RequestMethod } from '@nestjs/common';
import { concat, from, of } from 'rxjs';
import {
  file,
  type HandlerFunction,
  MemoryRunStore,
  message,
  type Query,
  type QueryContext,
  QueryError,
  type RunStore,
  type Turn,
} from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, FULL, get, request } from '../support/client.js';
import { deferred, eventually } from '../support/conditions.js';
import { SlowRunStore } from '../support/slow-run-store.js';
import { type Configure, describeOnOneAdapter, type Host, startAgent } from '../support/host.js';

const TEXT = 'city,sum\nParis,12\n';
const digestOf = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex');
/** Bytes that are written to disk. */
const LARGE = Buffer.alloc(20_000_000, Array.from({ length: 253 }, (_, index) => index) as never);

describeOnOneAdapter('A file of an answer on %s', (adapter) => {
  let host: Host | undefined;
  const start = async (
    handler: HandlerFunction,
    options: Parameters<typeof startAgent>[2] = {},
    configure?: Configure,
  ) => {
    host = await startAgent(
      adapter,
      handler,
      { owner: (request: { headers: Record<string, string> }) => request.headers['x-caller'], ...options },
      configure,
    );
    return host.url;
  };
  afterEach(async () => {
    await host?.idle();
    await host?.close();
    host = undefined;
  });
  const answers = (...contents: Parameters<typeof file>[0][]): HandlerFunction =>
    async function* () {
      for (const content of contents) yield file(content);
    };
  const askAs = (url: string, caller = 'ann', kwargs = {}) =>
    ask(url, 'Make a file', { headers: { 'x-caller': caller }, kwargs });
  const download = (url: string, path: string, headers: object = {}) =>
    get(url, path, { 'x-caller': 'ann', ...headers });
  it(promise('files.download', 'of a type that no header can carry'), async () => {
    const store = new MemoryRunStore();
    const kept = store.part.bind(store);
    store.part = (...ref) => {
      const found = kept(...ref);
      return found?.type === 'file' ? { ...found, mimeType: 'a/b; x="\u0100"' } : found;
    };
    const url = await start(answers({ content: Buffer.from(TEXT) }), { store });
    const { runId } = await askAs(url).then(async (answer) => (await answer.whole(), answer));
    const response = await download(url, `/query/${runId}/files/${digestOf(TEXT)}`);
    expect([response.status, response.headers['content-type'], await response.whole()]).toEqual([
      200,
      'application/octet-stream',
      TEXT,
    ]);
  });

  it(promise('files.download', 'also if the store keeps no contents'), async () => {
    const store = Object.assign(new SlowRunStore(() => 0), { files: undefined }) as unknown as RunStore;
    const handler = async function* (_query: Query, { session }: QueryContext) {
      const earlier = await session!.file(digestOf('earlier')).catch(() => undefined);
      yield file({ name: 'a.txt', content: Buffer.from(earlier ? `${await earlier.text()} ${TEXT}` : TEXT) });
    };
    const url = await start(handler, { store });
    const part = (text: string) => ({
      type: 'file',
      name: 'q.txt',
      mimeType: 'text/plain',
      base64: btoa(text),
    });
    const kwargs = { session_id: 's' };
    const headers = { 'x-caller': 'ann' };
    const contents: string[] = [];
    for (const text of ['earlier', 'later']) {
      const asked = await request(url, { headers }, JSON.stringify({ parts: [part(text)], kwargs }));
      await asked.whole();
      const answer = text === 'earlier' ? TEXT : `earlier ${TEXT}`;
      for (const each of [text, answer])
        contents.push(await (await download(url, `/query/${asked.runId}/files/${digestOf(each)}`)).whole());
    }
    expect(contents).toEqual(['earlier', TEXT, 'later', `earlier ${TEXT}`]);
  });

  const pathOf = (runId: string, bytes: string | Uint8Array) => `/query/${runId}/files/${digestOf(bytes)}`;

  it(
    promise('files.answer', 'from a blob, bytes, a web stream, a Node stream and an async iterable'),
    async () => {
      const bytes = Buffer.from(TEXT);
      const url = await start(
        answers(
          { name: 'a.csv', mimeType: 'text/csv', content: new Blob([bytes]) },
          { content: new File([bytes], 'b.csv', { type: 'text/csv' }) },
          { name: 'c.csv', content: bytes },
          { name: 'd.csv', mimeType: 'text/csv', content: new Blob([bytes]).stream() },
          {
            name: 'e.csv',
            mimeType: 'text/csv',
            content: Readable.from([bytes.subarray(0, 3), bytes.subarray(3)]),
          },
          {
            mimeType: 'text/csv',
            content: (async function* () {
              for (const byte of bytes) yield Uint8Array.of(byte);
            })(),
          },
        ),
      );
      const asked = await askAs(url);
      const envelopes = await asked.allEnvelopes();
      const data = (name: string, mimeType = 'text/csv') => ({
        type: 'file',
        data: { name, mimeType, size: 18, sha256: digestOf(TEXT), path: pathOf(asked.runId, TEXT) },
      });
      expect(envelopes).toEqual([
        data('a.csv'),
        data('b.csv'),
        data('c.csv', 'application/octet-stream'),
        data('d.csv'),
        data('e.csv'),
        data('file'),
        { type: 'done', data: { status: 'completed' } },
      ]);
      expect(asked.text).toContain(
        `data: {"type":"file","data":{"name":"a.csv","mimeType":"text/csv","size":18,"sha256":"${digestOf(TEXT)}","path":"/query/`,
      );
    },
  );

  it(promise('files.download'), async () => {
    const name = '"Straße" 文\u202e.html';
    const url = await start(answers({ name, mimeType: 'text/html', content: Buffer.from(TEXT) }));
    const asked = await askAs(url);
    await asked.whole();
    const path = pathOf(asked.runId, TEXT);
    const whole = await download(url, path);
    expect([whole.status, await whole.whole()]).toEqual([200, TEXT]);
    expect(whole.headers).toMatchObject({
      'content-type': 'text/html',
      'content-length': '18',
      'content-disposition':
        'attachment; filename="\\"Stra?e\\" ?_.html"; filename*=UTF-8\'\'%22Stra%C3%9Fe%22%20%E6%96%87_.html',
      etag: `"${digestOf(TEXT)}"`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': 'sandbox',
      'cache-control': 'private, no-cache',
      'accept-ranges': 'bytes',
    });
    const part = await download(url, path, { range: 'bytes=5-7' });
    expect([part.status, part.headers['content-range'], await part.whole()]).toEqual([
      206,
      'bytes 5-7/18',
      'sum',
    ]);
    const same = await download(url, path, { 'if-none-match': `W/"x", "${digestOf(TEXT)}"` });
    expect([same.status, await same.whole()]).toEqual([304, '']);
    const head = await request(url, { method: 'HEAD', path, headers: { 'x-caller': 'ann' } });
    expect([head.status, head.headers['content-length'], await head.whole()]).toEqual([200, '18', '']);
  });

  it(
    promise('files.download', 'also under a name that UTF-8 cannot represent, or that has signs of headers'),
    async () => {
      const names = {
        'a\ud800.txt': `attachment; filename="a?.txt"; filename*=UTF-8''a%EF%BF%BD.txt`,
        "it's(1)*; x.txt": `attachment; filename="it's(1)*; x.txt"; filename*=UTF-8''it%27s%281%29%2a%3B%20x.txt`,
      };
      for (const [name, disposition] of Object.entries(names)) {
        const url = await start(answers({ name, content: Buffer.from(TEXT) }));
        const asked = await askAs(url);
        await asked.whole();
        const whole = await download(url, pathOf(asked.runId, TEXT));
        expect([whole.status, whole.headers['content-disposition'], await whole.whole()]).toEqual([
          200,
          disposition,
          TEXT,
        ]);
        await host!.idle();
        await host!.close();
        host = undefined;
      }
    },
  );

  it(promise('files.download', 'of any size, in ranges, while it is not in memory'), async () => {
    const pieces = function* () {
      for (let at = 0; at < LARGE.length; at += 300_000) yield LARGE.subarray(at, at + 300_000);
    };
    const url = await start(answers({ name: 'large.bin', content: Readable.from(pieces()) }));
    const asked = await askAs(url);
    const [envelope] = await asked.allEnvelopes();
    expect(envelope).toMatchObject({ type: 'file', data: { size: LARGE.length, sha256: digestOf(LARGE) } });
    const path = pathOf(asked.runId, LARGE);
    const whole = await download(url, path);
    await whole.whole();
    expect(whole.bytes.equals(LARGE)).toBe(true);
    const end = await download(url, path, { range: 'bytes=-1000' });
    await end.whole();
    expect([end.status, end.bytes.equals(LARGE.subarray(-1000))]).toEqual([206, true]);
    // A caller that leaves in the middle disturbs nobody.
    const cut = await download(url, path);
    await cut.cutAfter(100_000);
    expect((await download(url, path, { range: 'bytes=0-0' })).status).toBe(206);
  });

  it(promise('files.download', 'that a query has brought, with and without a session'), async () => {
    const url = await start(async function* () {
      yield message('Thanks');
    });
    for (const kwargs of [{}, { session_id: 's' }]) {
      const parts = [
        { type: 'file', name: 'a.csv', mimeType: 'text/csv', base64: Buffer.from(TEXT).toString('base64') },
      ];
      const asked = await request(
        url,
        { headers: { ...FULL, 'x-caller': 'ann', 'content-type': 'application/json' } },
        JSON.stringify({ parts, kwargs }),
      );
      await asked.whole();
      const whole = await download(url, pathOf(asked.runId, TEXT));
      expect([whole.status, whole.headers['content-type'], await whole.whole()]).toEqual([
        200,
        'text/csv',
        TEXT,
      ]);
    }
  });

  it(
    promise('owner.isolation', 'a file is 404 for another owner, like one that does not exist'),
    async () => {
      const url = await start(answers({ content: Buffer.from(TEXT) }));
      const asked = await askAs(url);
      await asked.whole();
      const refusals = [
        await download(url, pathOf(asked.runId, TEXT), { 'x-caller': 'bob' }),
        await download(url, pathOf(asked.runId, 'unknown')),
        await download(url, pathOf('unknown', TEXT)),
      ];
      const bodies = await Promise.all(refusals.map((refusal) => refusal.whole()));
      expect(refusals.map(({ status }) => status)).toEqual([404, 404, 404]);
      expect(new Set(bodies).size).toBe(1);
    },
  );

  it(promise('files.expired'), async () => {
    const url = await start(
      async function* ({ kwargs }) {
        yield file({ name: 'a.bin', content: Buffer.alloc(600, kwargs['fill'] as number) });
      },
      { store: new MemoryRunStore({ filesBytes: 10_000 }) },
    );
    const first = await askAs(url, 'ann', { fill: 0 });
    await first.whole();
    for (let fill = 1; fill < 20; fill++) await (await askAs(url, 'ann', { fill })).whole();
    const gone = await download(url, pathOf(first.runId, Buffer.alloc(600)));
    expect([gone.status, await gone.json()]).toEqual([
      410,
      {
        type: 'about:blank',
        title: 'Gone',
        status: 410,
        detail: 'The content of this file is no longer kept.',
        code: 'file_expired',
      },
    ]);
  });

  it(promise('session.turns', 'with the files of an answer, which later turns can open'), async () => {
    const contents: string[] = [];
    const url = await start(async function* (_query, { history, session }) {
      for (const { envelopes } of history) {
        for (const { type, data } of envelopes) {
          if (type !== 'file') continue;
          const opened = await session!.file((data as { sha256: string }).sha256);
          contents.push(`${opened.name} ${opened.type} ${await opened.text()}`);
        }
      }
      yield file({ name: 'a.csv', mimeType: 'text/csv', content: Buffer.from(TEXT) });
    });
    const first = await askAs(url, 'ann', { session_id: 's' });
    await first.whole();
    await (await askAs(url, 'ann', { session_id: 's' })).whole();
    expect(contents).toEqual([`a.csv text/csv ${TEXT}`]);
    const page = await (await download(url, '/query/sessions/s')).json<{ turns: Turn[] }>();
    expect(page.turns[0]!.envelopes).toEqual([
      {
        type: 'file',
        data: {
          name: 'a.csv',
          mimeType: 'text/csv',
          size: 18,
          sha256: digestOf(TEXT),
          path: pathOf(first.runId, TEXT),
        },
      },
    ]);
    await (
      await request(url, { method: 'DELETE', path: '/query/sessions/s', headers: { 'x-caller': 'ann' } })
    ).whole();
    expect((await download(url, pathOf(first.runId, TEXT))).status).toBe(404);
  });

  it(promise('files.answer', 'at its place, also of an Observable that does not wait'), async () => {
    const slow = async function* () {
      await new Promise((resolve) => setImmediate(resolve));
      yield Buffer.from(TEXT);
    };
    const url = await start(() =>
      concat(
        of(message('a'), file({ name: '1', content: slow() }), message('b')),
        from([file({ name: '2', content: slow() }), file({ name: '3', content: slow() }), message('c')]),
      ),
    );
    const envelopes = await (await askAs(url)).allEnvelopes();
    const shown = envelopes.map(({ type, data }) =>
      type === 'done' ? type : ((data as { name?: string }).name ?? (data as { content: string }).content),
    );
    expect(shown).toEqual(['a', '1', 'b', '2', '3', 'c', 'done']);
  });

  it(
    promise('files.answer', 'with the path that the caller used, under the prefix of the host'),
    async () => {
      const url = await start(answers({ content: Buffer.from(TEXT) }), {}, (app) =>
        app.setGlobalPrefix('api/v1', { exclude: [{ path: 'none', method: RequestMethod.GET }] }),
      );
      const asked = await ask(url, 'Make a file', { path: '/api/v1/query', headers: { 'x-caller': 'ann' } });
      const [envelope] = await asked.allEnvelopes();
      const { path } = (envelope as unknown as { data: { path: string } }).data;
      expect(path).toBe(`/api/v1${pathOf(asked.runId, TEXT)}`);
      expect(await (await download(url, path)).whole()).toBe(TEXT);
    },
  );

  it(promise('cancel.stopped', 'also in the middle of a file, whose stream is cancelled'), async () => {
    const cancelled = deferred<unknown>();
    const reached = deferred();
    const content = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(LARGE.subarray(0, 200_000));
        reached.resolve();
        return new Promise(() => undefined);
      },
      cancel: (reason) => cancelled.resolve(reason),
    });
    const url = await start(answers({ name: 'endless', content }));
    const asked = await askAs(url);
    await reached.promise;
    const acknowledged = await request(url, {
      method: 'DELETE',
      path: `/query/${asked.runId}`,
      headers: { 'x-caller': 'ann' },
    });
    expect(acknowledged.status).toBe(200);
    await cancelled.promise;
    expect(await asked.allEnvelopes()).toEqual([{ type: 'done', data: { status: 'cancelled' } }]);
    await eventually(() => host!.agent.spoolUse().files === 0);
  });

  it(promise('cancel.stopped', 'also while the disk writes what a file has brought so far'), async () => {
    const [writing, slow, asked] = [deferred(), deferred(), deferred()];
    const probe = await open(import.meta.filename);
    const handles = Object.getPrototypeOf(probe) as FileHandle;
    await probe.close();
    const writes = jest.spyOn(handles, 'writeFile').mockImplementation(async function (
      this: FileHandle,
      bytes,
    ) {
      writing.resolve();
      await slow.promise;
      await this.write(bytes as Uint8Array);
    });
    let pieces = 0;
    const content = async function* () {
      for (; pieces < 20; pieces++) yield LARGE.subarray(0, 2_000_000);
    };
    const url = await start(
      async function* (_, { signal }) {
        signal.addEventListener('abort', () => asked.resolve());
        yield file({ name: 'large', content: content() });
      },
      { runs: { stopDeadlineMs: 10_000 } },
    );
    const { runId } = await askAs(url);
    await writing.promise;
    const cancelling = request(url, {
      method: 'DELETE',
      path: `/query/${runId}`,
      headers: { 'x-caller': 'ann' },
    });
    await asked.promise;
    slow.resolve();
    const { status } = await cancelling;
    writes.mockRestore();
    expect([status, pieces, host!.agent.spoolUse().files]).toEqual([200, 0, 0]);
  });

  it(
    promise('end.invalid-envelope', 'a file without content, without a type, or with a path for a name'),
    async () => {
      const wrong: unknown[] = [
        [
          { name: 'a', mimeType: 'text/csv' },
          'a `file` needs `data.content`, a Blob, bytes, or a stream of bytes',
        ],
        [
          { name: 'a', mimeType: 'text/csv', content: 'text' },
          'a `file` needs `data.content`, a Blob, bytes, or a stream of bytes',
        ],
        [
          { name: '../a', mimeType: 'text/csv', content: LARGE },
          '`data.name` of a `file` must not contain "/" or "\\": it is a label, not a path',
        ],
        [{ mimeType: 'text/csv', content: LARGE }, '`data.name` of a `file` must be a string'],
        [
          { name: 'a', mimeType: 'text\r\nX: y', content: LARGE },
          '`data.mimeType` of a `file` must be a media type such as "text/csv", at most 255 characters long',
        ],
        [
          { name: 'a', mimeType: 'text/csv', content: Readable.from(['text']) },
          'the content of a `file` must come as bytes, and a part of it is a string',
        ],
        [undefined, '`data.name` of a `file` must be a string'],
      ];
      const url = await start(async function* ({ kwargs }) {
        yield { type: 'file', data: (wrong[kwargs['index'] as number] as unknown[])[0] };
      });
      for (const [index, entry] of wrong.entries()) {
        const [done] = await (await askAs(url, 'ann', { index })).allEnvelopes();
        const sentence = `The agent emitted something that is not an envelope: ${(entry as string[])[1]}.`;
        expect(done).toEqual({
          type: 'done',
          data: { status: 'failed', error: { code: 'invalid_envelope', message: sentence } },
        });
      }
    },
  );

  it(promise('files.limits'), async () => {
    const url = await start(
      async function* ({ kwargs }) {
        for (const size of kwargs['sizes'] as number[]) yield file({ content: LARGE.subarray(0, size) });
        yield message('All');
      },
      { limits: { fileBytes: 1_000, filesBytes: 2_500 } },
    );
    const endOf = async (sizes: number[]) =>
      (await (await askAs(url, 'ann', { sizes })).allEnvelopes()).at(-1)!.data;
    expect(await endOf([1_000, 1_000, 500])).toEqual({ status: 'completed' });
    const failed = (message: string) => ({ status: 'failed', error: { code: 'limit_exceeded', message } });
    expect(await endOf([1_001])).toEqual(
      failed('The agent emitted too much. The file is larger than 1000 bytes.'),
    );
    expect(await endOf([1_000, 1_000, 501])).toEqual(
      failed('The agent emitted too much. The files are larger than 2500 bytes together.'),
    );
    await eventually(() => host!.agent.spoolUse().files === 0);
  });

  it(promise('end.failed', 'when the content of a file fails, with the code of the handler'), async () => {
    const broken = (error: Error) =>
      async function* () {
        yield LARGE.subarray(0, 100_000);
        throw error;
      };
    const url = await start(async function* ({ kwargs }) {
      const error = kwargs['own']
        ? new QueryError('quota_exceeded', 'No more files.', { status: 402 })
        : new Error('secret');
      yield file({ content: broken(error)() });
    });
    const endOf = async (own: boolean) =>
      (await (await askAs(url, 'ann', { own })).allEnvelopes()).at(-1)!.data;
    expect(await endOf(true)).toEqual({
      status: 'failed',
      error: { code: 'quota_exceeded', message: 'No more files.' },
    });
    expect(await endOf(false)).toMatchObject({ status: 'failed', error: { code: 'handler_failed' } });
    await eventually(() => host!.agent.spoolUse().files === 0);
  });
});
