import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type HandlerFunction, message, type Query } from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import { eventsOf, get, type Reply } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { ASKING, initialize, type Json, resultOf, sendLegacy, startMcp, toldIn } from './mcp-host.js';

const textOf = ({ parts }: Query) => (parts[0]?.type === 'text' ? parts[0].text : '');

/** What the agent has begun, and what lets it go on. */
const begun: string[] = [];
const goOn = new Map<string, () => void>();

const handler: HandlerFunction = async function* (query, context) {
  const text = textOf(query);
  begun.push(text);
  yield message('one ');
  if (text === 'ask') {
    const [answer] = await context.ask([{ key: 'q', kind: 'input', message: 'Which?' }]);
    yield message(String(answer!.value));
    return;
  }
  await new Promise<void>((resolve) => goOn.set(text, resolve));
  yield message('two');
  if (text === 'progress') await new Promise<void>((resolve) => goOn.set('end of progress', resolve));
};

const owner = ({ headers }: { headers: Record<string, string> }) => headers['authorization'];

describeOnOneAdapter('The stream of a call of MCP 2025-11-25 that was cut, on %s', (adapter) => {
  let host: Host;
  let session: Record<string, string>;
  beforeAll(async () => {
    host = await startMcp(adapter, handler, { owner });
    session = { ...(await initialize(host.url, ASKING)), authorization: 'ann' };
  });
  afterAll(() => host.close());

  const start = (text: string, more: Json = {}, headers = session) => {
    const params = { name: 'query', arguments: { text }, ...more };
    return sendLegacy(host.url, { id: 'call 7', method: 'tools/call', params }, headers);
  };
  const FOLLOWS = { accept: 'text/event-stream', 'mcp-protocol-version': '2025-11-25' };
  const resume = (id: string, { headers = session, base = host.url, path = '/mcp' } = {}) =>
    get(base, path, { ...FOLLOWS, ...headers, ...(id !== '' && { 'last-event-id': id }) });
  /** Cuts a response after the event by which it can be resumed. @returns the id of the newest event */
  async function cut(reply: Reply, after = 'id: '): Promise<string> {
    await reply.until(after);
    reply.cut();
    return eventsOf(reply.bytes).findLast(({ id }) => id !== undefined)!.id!;
  }

  it('goes on with its result, and the agent is executed once', async () => {
    const first = await start('slow');
    const id = await cut(first);
    expect(toldIn(first.bytes)).toEqual([]);
    const second = await resume(id);
    expect(second.headers['content-type']).toBe('text/event-stream');
    await eventually(() => goOn.has('slow'));
    goOn.get('slow')!();
    const [answer] = toldIn(await second.whole());
    expect(answer).toMatchObject({ id: 'call 7', result: { content: [{ type: 'text', text: 'one two' }] } });
    // A result that was lost, too.
    expect(toldIn(await (await resume(id)).whole())).toEqual([answer]);
    const inPath = await resume('', { path: `/mcp?lastEventId=${id}` });
    expect(toldIn(await inPath.whole())).toEqual([answer]);
    expect(begun.filter((text) => text === 'slow')).toHaveLength(1);
  });

  it('tells further progress, and none again', async () => {
    const id = await cut(await start('progress', { _meta: { progressToken: 3 } }), '"progress":1');
    const second = await resume(id);
    await second.until('id: ');
    goOn.get('progress')!();
    await second.until('"progress":2');
    goOn.get('end of progress')!();
    const told = toldIn(await second.whole()).slice(0, -1);
    expect(told).toMatchObject([{ params: { progressToken: 3, progress: 2, message: 'two' } }]);
  });

  it('asks no question again, and takes the answer', async () => {
    const first = await start('ask');
    const id = await cut(first, 'elicitation/create');
    const [question] = toldIn(first.bytes);
    const second = await resume(id);
    await second.until('id: ');
    const answered = { id: question!['id'], result: { action: 'accept', content: { answer: 'this' } } };
    expect((await sendLegacy(host.url, answered, session)).status).toBe(202);
    const told = toldIn(await second.whole());
    expect(told).toMatchObject([{ result: { content: [{ type: 'text', text: 'one this' }] } }]);
  });

  it('is not shown to another owner', async () => {
    const first = await start('private');
    const id = await cut(first);
    expect(await resultOf(await resume(id, { headers: { ...session, authorization: 'eve' } }))).toMatchObject(
      {
        isError: true,
        _meta: { code: 'not_found' },
      },
    );
    await eventually(() => goOn.has('private'));
    goOn.get('private')!();
    await (await resume(id)).whole();
  });

  it('cannot be resumed with another id, or in an older version', async () => {
    for (const id of ['', 'x', 'run.1', 'run.1.bm90', 'run.1.W10'])
      expect((await resume(id)).status).toBe(405);
    const reply = await start('old', {}, { ...session, 'mcp-protocol-version': '2025-06-18' });
    await eventually(() => goOn.has('old'));
    goOn.get('old')!();
    const events = eventsOf(await reply.whole());
    expect(events.map(({ id }) => id)).toEqual([undefined]);
  });

  it('goes on after the service has stopped and started again', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'mcp-resume-'));
    const asks: HandlerFunction = Object.assign(
      async function* (_: Query, context: Parameters<HandlerFunction>[1]) {
        const [answer] = await context.ask([{ key: 'q', kind: 'input', message: 'Which?' }], {
          checkpoint: 'asked',
        });
        yield message(String(answer!.value));
      },
      { restarts: 1 },
    );
    const begin = async () =>
      startMcp(adapter, asks, { store: await openStore(`file:${join(directory, 'db')}`) });
    let service = await begin();
    const params = { name: 'query', arguments: { text: 'Hi' } };
    const reply = await sendLegacy(service.url, { id: 1, method: 'tools/call', params }, session);
    await reply.until('elicitation/create');
    await service.close();
    // The response ends without an answer, as the client asks for the rest.
    const whole = await reply.whole();
    expect(whole.endsWith('\n\nretry: 5000\n\n')).toBe(true);
    const events = eventsOf(whole);
    const [question, ...others] = toldIn(reply.bytes);
    expect(others).toEqual([]);
    service = await begin();
    const second = await resume(events.at(-1)!.id!, { base: service.url });
    await second.until('id: ');
    const answered = { id: question!['id'], result: { action: 'accept', content: { answer: 'this' } } };
    expect((await sendLegacy(service.url, answered, session)).status).toBe(202);
    expect(await resultOf(second)).toMatchObject({ content: [{ type: 'text', text: 'this' }] });
    await service.close();
    await rm(directory, { recursive: true });
  });
});
