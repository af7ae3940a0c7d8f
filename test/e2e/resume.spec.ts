import fc from 'fast-check';
import { type Envelope, log, MemoryRunStore, message, QueryModule } from '../../src/index.js';
import { Connection, eventsOf, FULL, post, type ReadEvent, runIdOf } from '../support/client.js';
import { ADAPTERS, type Host, startHost } from '../support/host.js';
import { Puppet } from '../support/puppet.js';

/** Emits what the query's text says, as a JSON array of batches: a turn of the event loop passes between two of them. */
async function* script({ parts }: { parts: { type: string; text?: string }[] }): AsyncGenerator<Envelope> {
  for (const batch of JSON.parse(parts[0]!.text!) as Envelope[][]) {
    yield* batch;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe.each(ADAPTERS)('A stream that was cut, on %s', (adapter) => {
  let host: Host;
  const hostOf = async (options: Parameters<typeof QueryModule.forRoot>[0]) =>
    (host = await startHost(adapter, QueryModule.forRoot(options)));
  afterEach(() => host.close());

  /** Goes on where a client is, with a GET or by repeating the POST; undefined at the end. */
  const resume = (runId: string, read: ReadEvent[], way: 'GET' | 'POST'): Promise<Connection> => {
    const headers = { ...FULL, ...(read.length > 0 && { 'last-event-id': read.at(-1)!.id }) };
    if (way === 'POST' && read.length > 0) return Connection.post(host.url, 'Hello', headers);
    return Connection.open(`${host.url}/query/${runId}`, { headers });
  };

  it('is whole again, wherever the cut was', async () => {
    await hostOf({ handler: script });
    const envelopes = [message('Hi'), log('é\n'), message('\u{1f600} "quoted"'), { type: 'x', data: null }];
    const asked = await post(host.url, JSON.stringify([envelopes]), { headers: FULL });
    const uncut = Buffer.from(await asked.arrayBuffer());
    const runId = runIdOf(asked);
    const whole = eventsOf(uncut);
    expect(whole.map(({ data }) => JSON.parse(data) as unknown)).toEqual([
      ...envelopes,
      { type: 'done', data: { status: 'completed' } },
    ]);
    expect(whole.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5].map((seq) => `${runId}.${seq}`));

    for (let cut = 0; cut <= uncut.length; cut++) {
      const first = await Connection.open(`${host.url}/query/${runId}`, { headers: FULL });
      const read = eventsOf(await first.readBytes(cut));
      const second = await resume(runId, read, cut % 2 ? 'GET' : 'POST');
      const isAtEnd = read.length === whole.length;
      expect(second.status).toBe(isAtEnd && cut % 2 ? 204 : 200);
      expect([cut, ...read, ...eventsOf(await second.readBytes())]).toEqual([cut, ...whole]);
    }
  });

  it('is whole again, whatever the run and however often it was cut while it went on', async () => {
    await hostOf({ handler: script });
    const envelope = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }).map((content) => message(content)),
      fc.integer({ min: 1, max: 30_000 }).map((length) => log('x'.repeat(length))),
      fc.jsonValue().map((data) => ({ type: 'x', data })),
    );
    const run = fc.array(fc.array(envelope, { maxLength: 5 }), { maxLength: 8 });
    const cuts = fc.array(fc.tuple(fc.integer({ min: 0, max: 20_000 }), fc.constantFrom('GET', 'POST')), {
      maxLength: 5,
    });
    await fc.assert(
      fc.asyncProperty(run, cuts, async (batches, ways) => {
        const asked = await Connection.post(host.url, JSON.stringify(batches), FULL);
        const { runId } = asked;
        let connection = asked;
        const read: ReadEvent[] = [];
        for (const [bytes, way] of ways) {
          read.push(...eventsOf(await connection.readBytes(bytes)));
          connection = await resume(runId, read, way);
        }
        read.push(...eventsOf(await connection.readBytes()));
        const last = batches.flat().length + 1;
        expect(read.map(({ id }) => id)).toEqual(
          Array.from({ length: last }, (_, index) => `${runId}.${index + 1}`),
        );
        expect(read.map(({ data }) => JSON.parse(data) as unknown)).toEqual([
          ...(JSON.parse(JSON.stringify(batches.flat())) as unknown[]),
          { type: 'done', data: { status: 'completed' } },
        ]);
      }),
      { numRuns: 40 },
    );
  });

  it('can be resumed while the answer is still being made', async () => {
    const puppet = new Puppet();
    await hostOf({ handler: puppet.handler });
    const first = await Connection.post(host.url, 'Hello', FULL);
    const call = await puppet.call(1);
    call.emit(message('a'), message('b'));
    await first.readUntil('"b"');
    first.cut();
    call.emit(message('c'));
    const second = await Connection.post(host.url, 'Hello', { ...FULL, 'last-event-id': `${first.runId}.1` });
    expect(eventsOf(await second.readUntil('"c"')).map(({ id }) => id)).toEqual([
      `${first.runId}.2`,
      `${first.runId}.3`,
    ]);
    call.finish();
    expect(eventsOf(await second.readBytes()).map(({ id }) => id)).toEqual([`${first.runId}.4`]);
    expect(puppet.calls).toHaveLength(1);
  });

  it('has told its client too much to be resumed where the log no longer has what follows', async () => {
    await hostOf({ handler: script, store: new MemoryRunStore({ logLength: 100_000 }) });
    const batches = Array.from({ length: 300 }, () => [message('x'.repeat(1000))]);
    const asked = await post(host.url, JSON.stringify(batches), { headers: FULL });
    const runId = runIdOf(asked);
    await asked.text();
    const headers = { ...FULL, 'last-event-id': `${runId}.7` };
    const refusals = [
      await fetch(`${host.url}/query/${runId}`, { headers }),
      await fetch(`${host.url}/query/${runId}?after=7`, { headers: FULL }),
      await post(host.url, 'Hello', { headers }),
    ];
    for (const refusal of refusals) {
      expect(refusal.status).toBe(410);
      expect(refusal.headers.get('content-type')).toContain('application/problem+json');
      const problem = (await refusal.json()) as { code: string; oldest: number; latest: number };
      expect(problem).toMatchObject({ code: 'cursor_expired', latest: 301 });
      const kept = await fetch(`${host.url}/query/${runId}?after=${problem.oldest - 1}`, { headers: FULL });
      expect(eventsOf(await kept.text())).toHaveLength(301 - problem.oldest + 1);
    }
  });

  it('is refused with a reason where the cursor is none', async () => {
    await hostOf({ handler: script });
    const asked = await post(host.url, '[]');
    const runId = runIdOf(asked);
    await asked.text();
    const other = '00000000-0000-4000-8000-000000000000';
    const follow = (headers: object, query = '') =>
      fetch(`${host.url}/query/${runId}${query}`, { headers: { ...FULL, ...headers } });
    const statuses = [
      [await follow({ 'last-event-id': 'nonsense' }), 400],
      [await follow({ 'last-event-id': `${runId}.-1` }), 400],
      [await follow({ 'last-event-id': `${other}.1` }), 400],
      [await follow({ 'last-event-id': `${runId}.2` }), 400],
      [await follow({}, '?after=2'), 400],
      [await follow({}, '?after=x'), 400],
      [await follow({}, '?after=1&after=2'), 400],
      [await post(host.url, 'Hello', { headers: { 'last-event-id': 'nonsense' } }), 400],
      [await post(host.url, 'Hello', { headers: { 'last-event-id': `${other}.1` } }), 404],
      [await follow({ 'last-event-id': '' }), 200],
      [await follow({ 'last-event-id': `${runId}.1` }, '?after=0'), 204],
    ] as const;
    for (const [response, status] of statuses) {
      expect(response.status).toBe(status);
      const body = await response.text();
      if (status === 400) expect(JSON.parse(body)).toMatchObject({ code: 'invalid_query', status });
    }
  });
});
