import type { OutgoingHttpHeaders } from 'node:http';
import fc from 'fast-check';
import { type Envelope, log, MemoryRunStore, message, QueryModule } from '../../src/index.js';
import { promise } from '../promises.js';
import { anyCharacter } from '../support/any-character.js';
import { casesOf, IS_LONG } from '../support/long-form.js';
import { ask, eventsOf, follow, FULL, type ReadEvent, type Reply } from '../support/client.js';
import { describeOnOneAdapter, type Host, startHost } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

/** Emits the batches of envelopes that the text of the query contains as JSON, one batch per tick. */
async function* script({ parts }: { parts: { type: string; text?: string }[] }): AsyncGenerator<Envelope> {
  for (const batch of JSON.parse(parts[0]!.text!) as Envelope[][]) {
    yield* batch;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describeOnOneAdapter('A stream that was cut, on %s', (adapter) => {
  let host: Host;
  const hostOf = async (options: Parameters<typeof QueryModule.forRoot>[0]) =>
    (host = await startHost(adapter, QueryModule.forRoot(options)));
  afterEach(() => host.close());

  /** Resumes after the events that a client has read, with a GET or by repeating the POST. */
  const resume = (runId: string, read: ReadEvent[], way: 'GET' | 'POST'): Promise<Reply> => {
    const headers = { ...FULL, ...(read.length > 0 && { 'last-event-id': read.at(-1)!.id }) };
    if (way === 'POST' && read.length > 0) return ask(host.url, 'Hello', { headers });
    return follow(host.url, runId, headers);
  };

  it(promise('resume.any-cut'), async () => {
    await hostOf({ handler: script });
    const envelopes = [message('Hi'), log('é\n'), message('\u{1f600} "quoted"'), { type: 'x', data: null }];
    const asked = await ask(host.url, JSON.stringify([envelopes]), { headers: FULL });
    const uncut = Buffer.from(await asked.whole());
    const runId = asked.runId;
    const whole = eventsOf(uncut);
    expect(whole.map(({ data }) => JSON.parse(data) as unknown)).toEqual([
      ...envelopes,
      { type: 'done', data: { status: 'completed' } },
    ]);
    expect(whole.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5].map((seq) => `${runId}.${seq}`));

    // In the short form every third byte: so each part of an envelope is cut, and both ways to resume are tried.
    for (let cut = 0; cut <= uncut.length; cut += IS_LONG ? 1 : 3) {
      const first = await follow(host.url, runId);
      const read = eventsOf(await first.cutAfter(cut));
      const second = await resume(runId, read, cut % 2 ? 'GET' : 'POST');
      const isAtEnd = read.length === whole.length;
      expect(second.status).toBe(isAtEnd && cut % 2 ? 204 : 200);
      expect([cut, ...read, ...(await second.allEvents())]).toEqual([cut, ...whole]);
    }
  });

  it(promise('run.numbered', 'any run, cut any number of times while it executes'), async () => {
    await hostOf({ handler: script });
    const envelope = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 40 }).map((content) => message(content)),
      fc.integer({ min: 1, max: 30_000 }).map((length) => log('x'.repeat(length))),
      fc.jsonValue().map((data) => ({ type: 'x', data })),
    );
    const run = fc.array(fc.array(envelope, { maxLength: 5 }), { maxLength: 8 });
    const cuts = fc.array(fc.tuple(fc.integer({ min: 0, max: 20_000 }), fc.constantFrom('GET', 'POST')), {
      maxLength: 5,
    });
    await fc.assert(
      fc.asyncProperty(run, cuts, async (batches, ways) => {
        const asked = await ask(host.url, JSON.stringify(batches), { headers: FULL });
        const { runId } = asked;
        let connection = asked;
        const read: ReadEvent[] = [];
        for (const [bytes, way] of ways) {
          read.push(...eventsOf(await connection.cutAfter(bytes)));
          connection = await resume(runId, read, way);
        }
        read.push(...(await connection.allEvents()));
        const last = batches.flat().length + 1;
        expect(read.map(({ id }) => id)).toEqual(
          Array.from({ length: last }, (_, index) => `${runId}.${index + 1}`),
        );
        expect(read.map(({ data }) => JSON.parse(data) as unknown)).toEqual([
          ...(JSON.parse(JSON.stringify(batches.flat())) as unknown[]),
          { type: 'done', data: { status: 'completed' } },
        ]);
      }),
      { numRuns: casesOf(40) },
    );
  });

  it(promise('resume.post', 'also while the run executes'), async () => {
    const agent = new ScriptedAgent();
    await hostOf({ handler: agent.handler });
    const first = await ask(host.url, 'Hello', { headers: FULL });
    const call = await agent.call(1);
    call.emit(message('a'), message('b'));
    await first.until('"b"');
    first.cut();
    call.emit(message('c'));
    const second = await ask(host.url, 'Hello', {
      headers: { ...FULL, 'last-event-id': `${first.runId}.1` },
    });
    expect(eventsOf(await second.until('"c"')).map(({ id }) => id)).toEqual([
      `${first.runId}.2`,
      `${first.runId}.3`,
    ]);
    call.finish();
    expect((await second.allEvents()).map(({ id }) => id)).toEqual(
      [2, 3, 4].map((seq) => `${first.runId}.${seq}`),
    );
    expect(agent.calls).toHaveLength(1);
  });

  it(promise('cursor.expired'), async () => {
    await hostOf({ handler: script, store: new MemoryRunStore({ logLength: 100_000 }) });
    const batches = Array.from({ length: 300 }, () => [message('x'.repeat(1000))]);
    const asked = await ask(host.url, JSON.stringify(batches), { headers: FULL });
    const runId = asked.runId;
    await asked.whole();
    const headers = { ...FULL, 'last-event-id': `${runId}.7` };
    const refusals = [
      await follow(host.url, runId, headers),
      await follow(host.url, `${runId}?after=7`),
      await follow(host.url, `${runId}?lastEventId=${runId}.7`),
      await ask(host.url, 'Hello', { headers }),
    ];
    for (const refusal of refusals) {
      expect(refusal.status).toBe(410);
      expect(refusal.headers['content-type']).toBe('application/problem+json');
      const problem = await refusal.json<{ code: string; oldest: number; latest: number }>();
      expect(problem).toMatchObject({ code: 'cursor_expired', latest: 301 });
      const kept = await follow(host.url, `${runId}?after=${problem.oldest - 1}`);
      expect(await kept.allEvents()).toHaveLength(301 - problem.oldest + 1);
    }
  });

  it(promise('cursor.parameter'), async () => {
    await hostOf({ handler: script });
    const asked = await ask(host.url, JSON.stringify([[message('a'), message('b')]]));
    const { runId } = asked;
    await asked.whole();
    const other = await ask(host.url, '[]');
    await other.whole();
    const outcomeOf = async (query: string, headers: OutgoingHttpHeaders = {}) => {
      const reply = await follow(host.url, `${runId}?${query}`, headers);
      if (reply.status !== 200) return reply.status;
      return (await reply.allEvents()).map(({ id }) => id!.slice(runId.length));
    };
    const header = { 'last-event-id': `${runId}.2` };
    const long = 'x'.repeat(10_000);
    const outcomes: [string, OutgoingHttpHeaders, number | string[]][] = [
      [`lastEventId=${runId}.1`, {}, ['.2', '.3']],
      [`lastEventId=${encodeURIComponent(`${runId}.1`)}&after=0`, {}, ['.2', '.3']],
      [`lastEventId=${runId}.3`, {}, 204],
      ['lastEventId=', {}, ['.1', '.2', '.3']],
      ['lastEventId=&after=2', {}, ['.3']],
      [`lastEventId=${runId}.1`, header, ['.3']],
      ['lastEventId=nonsense', header, ['.3']],
      [`lastEventId=${runId}.1`, { 'last-event-id': '' }, ['.2', '.3']],
      [`lasteventid=${runId}.1`, {}, ['.1', '.2', '.3']],
      ['lastEventId=nonsense', {}, 400],
      ['lastEventId=nonsense&after=1', {}, 400],
      [`lastEventId=${runId}.4`, {}, 400],
      [`lastEventId=${runId}.-1`, {}, 400],
      [`lastEventId=${runId}.1.2`, {}, 400],
      [`lastEventId=${other.runId}.1`, {}, 400],
      [`lastEventId=${runId}.1&lastEventId=${runId}.1`, {}, 400],
      [`lastEventId=${runId}.1&lastEventId=`, {}, 400],
      [`lastEventId=${long}`, {}, 400],
    ];
    for (const [query, headers, outcome] of outcomes)
      expect([query, headers, await outcomeOf(query, headers)]).toEqual([query, headers, outcome]);
  });

  it(promise('resume.end'), async () => {
    await hostOf({ handler: script });
    const asked = await ask(host.url, JSON.stringify([[message('a')]]), { headers: FULL });
    const { runId } = asked;
    await asked.whole();
    const streamOf = async (seq: number, headers: OutgoingHttpHeaders) => {
      const reply = await ask(host.url, 'Hello', {
        headers: { ...headers, 'last-event-id': `${runId}.${seq}` },
      });
      return [reply.status, await reply.whole()];
    };
    const done = 'data: {"type":"done","data":{"status":"completed"}}\n\n';
    expect(await streamOf(1, FULL)).toEqual([200, `retry: 1000\nid: ${runId}.2\n${done}`]);
    expect(await streamOf(2, FULL)).toEqual([200, 'retry: 86400000\n']);
    expect(await streamOf(2, {})).toEqual([200, '']);
  });

  it(promise('cursor.invalid'), async () => {
    await hostOf({ handler: script });
    const asked = await ask(host.url, '[]');
    const runId = asked.runId;
    await asked.whole();
    const other = '00000000-0000-4000-8000-000000000000';
    const followWith = (headers: OutgoingHttpHeaders, query = '') =>
      follow(host.url, `${runId}${query}`, headers);
    const statuses = [
      [await followWith({ 'last-event-id': 'nonsense' }), 400],
      [await followWith({ 'last-event-id': `${runId}.-1` }), 400],
      [await followWith({ 'last-event-id': `${other}.1` }), 400],
      [await followWith({ 'last-event-id': `${runId}.2` }), 400],
      [await followWith({}, '?after=2'), 400],
      [await followWith({}, '?after=x'), 400],
      [await followWith({}, '?after=1&after=2'), 400],
      [await ask(host.url, 'Hello', { headers: { 'last-event-id': 'nonsense' } }), 400],
      [await ask(host.url, 'Hello', { headers: { 'last-event-id': `${other}.1` } }), 404],
      [await followWith({ 'last-event-id': '' }), 200],
      [await followWith({ 'last-event-id': `${runId}.1` }, '?after=0'), 204],
    ] as const;
    for (const [response, status] of statuses) {
      expect(response.status).toBe(status);
      const body = await response.whole();
      if (status === 400) expect(JSON.parse(body)).toMatchObject({ code: 'invalid_query', status });
    }
  });
});
