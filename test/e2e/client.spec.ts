import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  AgentQueryClient,
  AgentQueryError,
  type AnswerEnvelope,
  type Turn,
  type TurnText,
} from '../../packages/client/src/index.js';
import {
  type Envelope,
  file,
  log,
  MemoryRunStore,
  message,
  QueryError,
  type QueryModuleOptions,
  reasoning,
  toolCall,
  toolResult,
  usage,
} from '../../src/index.js';
import { promise } from '../promises.js';
import { deferred } from '../support/conditions.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';
import { IS_LONG } from '../support/long-form.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

const COMPLETED = { type: 'done', data: { status: 'completed' } };

async function read(answer: AsyncIterable<AnswerEnvelope>): Promise<Envelope[]> {
  const envelopes: Envelope[] = [];
  for await (const envelope of answer) envelopes.push(envelope);
  return envelopes;
}

const refusalOf = (refused: Promise<unknown>): Promise<AgentQueryError> =>
  refused.then(
    () => Promise.reject(new Error('It was not refused.')),
    (error: unknown) => error as AgentQueryError,
  );

const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

describeOnOneAdapter('The typed client, of a service on %s,', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  let client: AgentQueryClient;

  const start = async (options: Partial<QueryModuleOptions> = {}, handler = agent.handler) => {
    host = await startAgent(adapter, handler, { streams: { retryMs: 1 }, ...options });
    client = new AgentQueryClient({ baseUrl: host.url });
  };
  beforeEach(() => (agent = new ScriptedAgent()));
  afterEach(() => host.close());

  it(
    promise('client.any-cut'),
    async () => {
      const envelopes = [message('Hello '), log('é\n'), reasoning('why'), message('\u{1f600} "again"')];
      let runs = 0;
      await start({}, async function* () {
        runs += 1;
        for (const envelope of envelopes) {
          yield envelope;
          await new Promise((resolve) => setImmediate(resolve));
        }
      });
      const askWithCut = async (bytes: number) => {
        const proxy = await CuttingProxy.before(host.url);
        proxy.cutAfter(bytes);
        const answer = new AgentQueryClient({ baseUrl: proxy.url }).ask('Hello');
        expect([bytes, ...(await read(answer))]).toEqual([bytes, ...envelopes, COMPLETED]);
        expect(await answer.text()).toBe('Hello \u{1f600} "again"');
        await proxy.stop();
        return proxy.cuts;
      };
      // Many at a time, because the client waits before it tries again. Every third byte: no part of an envelope is shorter.
      // In the short form every 13th: the envelopes have the same parts, and each is cut in others.
      const AT_ONCE = IS_LONG ? 100 : 25;
      const STEP = IS_LONG ? 3 : 13;
      let asked = 0;
      for (let isCut = true; isCut;) {
        const positions = Array.from({ length: AT_ONCE }, (_, index) => (asked + index) * STEP);
        const cuts = await Promise.all(positions.map(askWithCut));
        asked += AT_ONCE;
        isCut = cuts.every((count) => count === 1);
      }
      expect(asked).toBeGreaterThan(AT_ONCE);
      expect(runs).toBe(asked);
    },
    60_000,
  );

  it(promise('client.cut-upload'), async () => {
    await start();
    const proxy = await CuttingProxy.before(host.url);
    const bytes = Buffer.alloc(1_000_000, 'a byte');
    const isCut = deferred();
    proxy.cutUploadAfter(300_000);
    const answer = new AgentQueryClient({ baseUrl: proxy.url }).ask('Hello', {
      files: [bytes],
      onResume: ({ attempt, after, error }) => {
        expect([attempt, after, (error as AgentQueryError).code]).toEqual([1, 0, 'connection_lost']);
        isCut.resolve();
      },
    });
    await isCut.promise;
    const call = await agent.call(1);
    const part = call.query.parts[1]!;
    expect(part).toMatchObject({ type: 'file', sha256: digestOf(bytes) });
    call.finish();
    expect(await answer.text()).toBe('');
    expect(agent.calls).toHaveLength(1);
    await proxy.stop();
  });

  it(promise('client.files'), async () => {
    await start();
    const folder = await mkdtemp(join(tmpdir(), 'client-'));
    const bytes = Buffer.from(Array.from({ length: 1_000 }, (_, index) => index % 256));
    await writeFile(join(folder, 'on disk.bin'), bytes);
    const chunks = async function* (size: number) {
      for (let at = 0; at < bytes.length; at += size)
        yield await Promise.resolve(bytes.subarray(at, at + size));
    };
    const sent: [number, number | undefined][] = [];
    const answer = client.ask(
      [
        { type: 'file', name: 'empty', mimeType: 'text/plain', base64: '' },
        { type: 'text', text: 'Hello' },
        { type: 'file', content: new File([bytes], 'a.png', { type: 'image/png' }) },
      ],
      {
        files: [
          new Blob([bytes]),
          bytes,
          { name: 'stream', content: ReadableStream.from(chunks(7)) },
          { name: 'é.txt', mimeType: 'text/plain', content: chunks(1) },
          join(folder, 'on disk.bin'),
        ],
        kwargs: { tone: 'short' },
        sessionId: 's/1',
        onUpload: (bytesSent, total) => sent.push([bytesSent, total]),
      },
    );
    const call = await agent.call(1);
    const sha256 = digestOf(bytes);
    const octets = { mimeType: 'application/octet-stream', sha256 };
    expect(call.query.kwargs).toEqual({ tone: 'short', session_id: 's/1' });
    expect(call.query.parts).toMatchObject([
      { name: 'empty', mimeType: 'text/plain', sha256: digestOf(Buffer.of()) },
      { type: 'text', text: 'Hello' },
      { ...octets, name: 'a.png', mimeType: 'image/png' },
      { ...octets, name: 'file' },
      { ...octets, name: 'file' },
      { ...octets, name: 'stream' },
      { ...octets, name: 'é.txt', mimeType: 'text/plain' },
      { ...octets, name: 'on disk.bin' },
    ]);
    call.finish();
    await answer.result();
    expect(sent.every(([, total]) => total === undefined)).toBe(true);

    const sized = client.ask('Hello', { files: [bytes], onUpload: (...told) => sent.push(told) });
    (await agent.call(2)).finish();
    await sized.result();
    const [last, total] = sent.at(-1)!;
    expect(last).toBe(total);
    await rm(folder, { recursive: true });
  });

  it(promise('client.file-faults'), async () => {
    await start();
    expect(() => client.ask('x', { files: ['/no/such/file'] })).toThrow(
      expect.objectContaining({
        code: 'file_unreadable',
        message: 'The file "/no/such/file" cannot be read (ENOENT).',
      }),
    );
    expect(() => client.ask('x', { files: [7 as never] })).toThrow(
      new TypeError('The content of a file must be a File, a Blob, bytes, a stream or a path.'),
    );
    const broken = ReadableStream.from(
      (async function* () {
        yield await Promise.resolve(new Uint8Array(9));
        throw new Error('the disk is gone');
      })(),
    );
    const failed = await refusalOf(client.ask('x', { files: [{ name: 'a.txt', content: broken }] }).text());
    expect([failed.code, failed.message]).toEqual([
      'file_unreadable',
      'The file "a.txt" cannot be read (the disk is gone).',
    ]);

    const proxy = await CuttingProxy.before(host.url);
    proxy.cutUploadAfter(300_000);
    const once = (async function* () {
      for (let count = 0; count < 100; count++) yield await Promise.resolve(new Uint8Array(10_000));
    })();
    const cut = await refusalOf(
      new AgentQueryClient({ baseUrl: proxy.url }).ask('x', { files: [once] }).text(),
    );
    expect(cut.code).toBe('body_not_repeatable');
    await proxy.stop();
    expect(agent.calls).toHaveLength(0);
  });

  it(promise('client.readers'), async () => {
    await start();
    const answer = client.ask('Hello');
    const call = await agent.call(1);
    const first = read(answer);
    const text = answer.text();
    call.emit(message('a'), usage({ inputTokens: 1, outputTokens: 2 }), message('b'));
    for await (const envelope of answer) if (envelope.type === 'usage') break;
    call.emit(usage({ inputTokens: 3, outputTokens: 4, model: 'm' }));
    call.finish();
    expect(await text).toBe('ab');
    expect(await first).toHaveLength(5);
    expect(await read(answer)).toEqual(await first);
    expect(await answer.result()).toEqual({
      runId: await answer.runId,
      status: 'completed',
      text: 'ab',
      files: [],
      usage: { inputTokens: 4, outputTokens: 6, model: 'm' },
      envelopes: (await first).slice(0, -1),
    });
    expect(answer.after).toBe(5);
  });

  it(promise('client.leave'), async () => {
    await start();
    const answer = client.ask('Hello');
    const call = await agent.call(1);
    call.emit(message('a'));
    for await (const envelope of answer) {
      expect(envelope).toEqual(message('a'));
      break;
    }
    const { followers } = host.agent.load();
    expect(followers).toBeLessThan(2);
    call.emit(message('b'));
    const leaving = new AbortController();
    const other = client.follow(await answer.runId, 0, { signal: leaving.signal });
    const seen: string[] = [];
    const reason = new Error('enough');
    const left = (async () => {
      for await (const envelope of other) {
        seen.push(envelope.type);
        if (seen.length === 2) leaving.abort(reason);
      }
    })();
    await expect(left).rejects.toBe(reason);
    expect(seen).toEqual(['message', 'message']);
    call.finish();
    expect(await answer.text()).toBe('ab');
    expect((await client.run(await answer.runId)).status).toBe('completed');
  });

  it(promise('client.cancel'), async () => {
    await start();
    const answer = client.ask('Hello');
    const call = await agent.call(1);
    expect(await answer.cancel()).toMatchObject({ id: await answer.runId, status: 'cancelled' });
    await call.stopped;
    expect((await answer.result()).status).toBe('cancelled');

    const never = new ReadableStream<Uint8Array>({});
    const sending = client.ask('Hello', { files: [never] });
    expect(await sending.cancel()).toBeUndefined();
    expect((await refusalOf(sending.text())).code).toBe('cancelled');
    expect((await refusalOf(sending.runId)).code).toBe('cancelled');
    expect(agent.calls).toHaveLength(1);
  });

  it(promise('client.detached'), async () => {
    await start();
    const started = client.ask('Hello', { detached: true });
    const runId = await started.runId;
    const call = await agent.call(1);
    expect(host.agent.load().followers).toBe(0);
    call.emit(message('a'), message('b'));
    call.finish();
    expect(await started.text()).toBe('ab');
    const rest = client.follow(runId, 1);
    expect(await read(rest)).toEqual([message('b'), COMPLETED]);
    const atEnd = await client.follow(runId, 3).result();
    expect(atEnd).toEqual({ runId, status: 'completed', text: '', files: [], envelopes: [] });
  });

  it(promise('client.end'), async () => {
    await start();
    const answer = client.ask('Hello');
    const call = await agent.call(1);
    call.emit(message('half'));
    call.fail(new QueryError('out_of_paper', 'There is no paper left.', { status: 507 }));
    const error = await refusalOf(answer.text());
    const runId = await answer.runId;
    expect(error).toMatchObject({ code: 'out_of_paper', message: 'There is no paper left.', runId });
    expect(await answer.result()).toMatchObject({
      status: 'failed',
      error: { code: 'out_of_paper', message: 'There is no paper left.' },
      text: 'half',
    });
  });

  it(promise('client.refused'), async () => {
    await start({ limits: { fileBytes: 1_000 } });
    const bad = client.ask([{ type: 'file', name: '', mimeType: 'x', base64: '?' }]);
    const error = await refusalOf(bad.text());
    expect(error).toBeInstanceOf(AgentQueryError);
    expect(error).toMatchObject({ code: 'invalid_query', status: 400, problem: { title: 'Bad Request' } });
    expect(error.errors!.map(({ pointer }) => pointer)).toEqual([
      '/parts/0/name',
      '/parts/0/mimeType',
      '/parts/0/base64',
    ]);
    expect(await refusalOf(bad.runId)).toBe(error);
    expect(await refusalOf(bad.result())).toBe(error);

    // The service refuses while the client still sends.
    const large = client.ask('x', { files: [new Blob([new Uint8Array(30_000_000)])] });
    expect(await refusalOf(large.text())).toMatchObject({
      code: 'limit_exceeded',
      status: 413,
      message: 'The file is larger than 1000 bytes.',
    });
    expect(await refusalOf(client.run('none'))).toMatchObject({ code: 'not_found', status: 404 });
    expect(await refusalOf(client.follow('none').text())).toMatchObject({ code: 'not_found', runId: 'none' });
  });

  it(promise('client.retry-after'), async () => {
    let refusals = 1;
    const owner = () => {
      if (refusals-- > 0) throw new QueryError('rate_limited', 'Too many queries.', { retryAfter: 1 });
      return undefined;
    };
    await start({ owner });
    const waits: number[] = [];
    const answer = client.ask('Hello', { onResume: ({ delayMs }) => waits.push(delayMs) });
    (await agent.call(1)).finish();
    expect(await answer.text()).toBe('');
    expect(waits).toEqual([1000]);
  });

  it(promise('client.expired'), async () => {
    await start({ store: new MemoryRunStore({ logLength: 100_000 }) });
    const answer = client.ask('Hello', { detached: true });
    const call = await agent.call(1);
    for (let count = 0; count < 300; count++) call.emit(message('x'.repeat(1000)));
    call.finish();
    await call.stopped;
    await host.idle();
    const error = await refusalOf(client.follow(await answer.runId).text());
    expect(error).toMatchObject({ code: 'cursor_expired', status: 410, problem: { latest: 301 } });
    const rest = await client.follow(await answer.runId, error.problem!.oldest! - 1).result();
    expect(rest).toMatchObject({ status: 'completed', text: expect.stringMatching(/^x+$/) as string });
  });

  it(promise('client.lists'), async () => {
    await start();
    for (const [index, sessionId] of ['a', 'b/ü', 'b/ü'].entries()) {
      const answer = client.ask(`Of ${sessionId}`, { sessionId });
      (await agent.call(index + 1)).finish();
      await answer.result();
    }
    const page = await client.runs({ limit: 2 });
    expect(page.runs.map(({ session }) => session)).toEqual(['b/ü', 'b/ü']);
    const next = await client.runs({ limit: 2, after: page.next! });
    expect(next).toMatchObject({ runs: [{ session: 'a' }], next: null });
    expect((await client.runs({ session: 'a', status: 'completed' })).runs).toHaveLength(1);
    expect((await client.sessions()).sessions.map(({ id }) => id)).toEqual(['b/ü', 'a']);
    expect((await client.session('b/ü', { after: 1 })).turns).toHaveLength(1);
    await client.erase('b/ü');
    expect(await refusalOf(client.session('b/ü'))).toMatchObject({ code: 'not_found' });
    expect((await client.cancel(next.runs[0]!.id)).status).toBe('completed');
  });

  it(promise('client.resumes-session'), async () => {
    await start({ runs: { maxRunning: 1 } });
    // Pages have at most 8 Mi characters.
    const hits = 'x'.repeat(1_000_000);
    const texts = Array.from({ length: 10 }, (_, index) => `Q${index}`);
    for (const text of texts) {
      const answer = client.ask(text, { sessionId: 's' });
      (await agent.callFor(text)).emit(toolCall('c', 'search'), toolResult('c', hits));
      (await agent.callFor(text)).finish();
      await answer.result();
    }
    const questions = ({ turns }: { turns: Turn[] }) =>
      turns.map(({ parts: [part] }) => (part as TurnText).text);
    expect((await client.session('s', { limit: 500 })).next).not.toBeNull();
    const ended = await client.resume('s');
    expect([questions(ended), ended.answer]).toEqual([texts, undefined]);

    const first = client.ask('first', { sessionId: 's' });
    const call = await agent.callFor('first');
    call.emit(message('One '));
    const second = client.ask('second', { sessionId: 's' });
    const other = client.ask('other', { sessionId: 'waits' });
    await Promise.all([second.runId, other.runId]);
    const executing = await client.resume('s');
    expect([questions(executing), await executing.answer!.runId]).toEqual([texts, await first.runId]);
    const waiting = await client.resume('waits');
    expect([waiting.turns, await waiting.answer!.runId]).toEqual([[], await other.runId]);
    call.emit(message('two.'));
    call.finish();
    expect(await executing.answer!.text()).toBe('One two.');
    expect(await (await client.resume('s')).answer!.runId).toBe(await second.runId);
    (await agent.callFor('other')).finish();
    expect(await waiting.answer!.text()).toBe('');
    (await agent.callFor('second')).finish();
    await second.result();
  });

  it(promise('client.resumes-session', 'and says why it cannot, or is left'), async () => {
    await start();
    expect(await refusalOf(client.resume('unknown'))).toMatchObject({ code: 'not_found', status: 404 });
    await expect(client.resume('')).rejects.toThrow(TypeError);
    const signal = AbortSignal.abort(new Error('Left.'));
    await expect(client.resume('s', { signal })).rejects.toThrow('Left.');
    const answer = client.ask('Hi', { sessionId: 's' });
    const call = await agent.callFor('Hi');
    const leaving = new AbortController();
    const resumed = await client.resume('s', { signal: leaving.signal });
    const text = resumed.answer!.text();
    leaving.abort(new Error('Left.'));
    await expect(text).rejects.toThrow('Left.');
    call.finish();
    await answer.result();
  });

  it(promise('client.download'), async () => {
    await start();
    const answer = client.ask('Hello');
    const call = await agent.call(1);
    call.emit(file({ name: 'a.txt', mimeType: 'text/plain', content: Buffer.from('0123456789') }));
    call.finish();
    const { runId, files } = await answer.result();
    const [{ name, sha256 }] = files as [(typeof files)[0]];
    expect(name).toBe('a.txt');
    expect(await (await client.file(runId, sha256)).text()).toBe('0123456789');
    const part = await client.file(runId, sha256, { range: 'bytes=2-4' });
    expect([part.status, await part.text()]).toEqual([206, '234']);
  });
});
