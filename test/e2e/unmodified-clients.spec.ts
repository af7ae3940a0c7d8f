import type { Server } from 'node:http';
import { fetchEventSource } from '@microsoft/fetch-event-source';
import { EventSource, type FetchLike } from 'eventsource';
import { message } from '../../src/index.js';
import { promise } from '../promises.js';
import { ask } from '../support/client.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

/** Sends the cursor as event-source-polyfill and reconnecting-eventsource do. */
const withCursorInAddress: FetchLike = (url, { headers, ...init }) => {
  const { 'Last-Event-ID': id, ...others } = headers;
  const address = new URL(url);
  if (id !== undefined) address.searchParams.set('lastEventId', id);
  return fetch(address, { ...init, headers: others });
};

describeOnOneAdapter('A client of a third party, on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  beforeEach(async () => {
    agent = new ScriptedAgent();
    host = await startAgent(adapter, agent.handler, { streams: { retryMs: 5 } });
  });
  afterEach(async () => {
    await host.idle();
    await host.close();
  });
  const cutAll = () => (host.app.getHttpServer() as Server).closeAllConnections();

  it.each<[string, FetchLike]>([
    ['with the header', (url, init) => fetch(url, init)],
    ['with the cursor in the address', withCursorInAddress],
  ])(promise('follow.event-source', '%s'), async (_, send) => {
    const named = await ask(host.url, 'Hello', { headers: { prefer: 'respond-async' } });
    const call = await agent.call(1);
    const location = named.headers['location']!;
    const source = new EventSource(new URL(location, host.url), { fetch: send });
    const ids: string[] = [];
    const contents: unknown[] = [];
    const statuses: (number | undefined)[] = [];
    const ended = new Promise<void>((resolve) => {
      source.onerror = ({ code }) => {
        statuses.push(code);
        if (source.readyState === EventSource.CLOSED) resolve();
      };
    });
    let seq = 0;
    call.emit(message(`${++seq}`));
    source.onmessage = ({ data, lastEventId }) => {
      ids.push(lastEventId);
      const envelope = JSON.parse(data as string) as { type: string; data: unknown };
      contents.push(envelope.data);
      if (envelope.type === 'done') return;
      if (seq === 8) return call.finish();
      call.emit(message(`${++seq}`));
      // An envelope that is emitted while no client is connected must not be lost.
      if (seq % 2 === 0 && seq < 8) {
        cutAll();
        call.emit(message(`${++seq}`));
      }
    };
    await ended;
    source.close();
    const runId = location.split('/').at(-1)!;
    expect(ids).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9].map((number) => `${runId}.${number}`));
    expect(contents).toEqual([
      ...['1', '2', '3', '4', '5', '6', '7', '8'].map((content) => ({ content })),
      { status: 'completed' },
    ]);
    expect(statuses).toEqual([undefined, undefined, undefined, 204]);
    expect(agent.calls).toHaveLength(1);
  });

  it(promise('resume.post', 'as fetch-event-source repeats it'), async () => {
    // The parts of a browser that the library needs.
    const page = { hidden: false, addEventListener: () => undefined, removeEventListener: () => undefined };
    Object.assign(globalThis, { document: page, window: globalThis });
    try {
      const ids: string[] = [];
      const contents: unknown[] = [];
      let cuts = 0;
      const following = fetchEventSource(`${host.url}/query`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"parts":[{"type":"text","text":"Hello"}]}',
        onerror: () => void cuts++,
        onmessage: ({ id, data }) => {
          // The library passes on events that have only a retry field.
          if (data === '') return;
          ids.push(id);
          const envelope = JSON.parse(data) as { type: string; data: unknown };
          contents.push(envelope.data);
          if (ids.length === 2 || ids.length === 4) {
            cutAll();
            call.emit(message('away'), message('back'));
          }
          if (ids.length === 6) call.finish();
        },
      });
      const call = await agent.call(1);
      call.emit(message('1'), message('2'));
      await following;
      const runId = ids[0]!.split('.')[0]!;
      expect(ids).toEqual([1, 2, 3, 4, 5, 6, 7].map((number) => `${runId}.${number}`));
      expect(contents).toEqual([
        ...['1', '2', 'away', 'back', 'away', 'back'].map((content) => ({ content })),
        { status: 'completed' },
      ]);
      expect(cuts).toBe(2);
      expect(agent.calls).toHaveLength(1);
    } finally {
      Reflect.deleteProperty(globalThis, 'document');
      Reflect.deleteProperty(globalThis, 'window');
    }
  });
});
