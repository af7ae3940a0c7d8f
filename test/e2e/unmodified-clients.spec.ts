import type { Server } from 'node:http';
import { fetchEventSource } from '@microsoft/fetch-event-source';
import { EventSource } from 'eventsource';
import { message } from '../../src/index.js';
import { post } from '../support/client.js';
import { ADAPTERS, type Host, startAgent } from '../support/host.js';
import { Puppet } from '../support/puppet.js';

describe.each(ADAPTERS)('A client that knows nothing of this service, on %s', (adapter) => {
  let host: Host;
  let puppet: Puppet;
  beforeEach(async () => {
    puppet = new Puppet();
    host = await startAgent(adapter, puppet.handler, { streams: { retryMs: 5 } });
  });
  afterEach(async () => {
    await host.idle();
    await host.close();
  });
  const cutAll = () => (host.app.getHttpServer() as Server).closeAllConnections();

  it("follows a run across three cuts with EventSource's own means, and stops at the end", async () => {
    const named = await post(host.url, 'Hello', { headers: { prefer: 'respond-async' } });
    const call = await puppet.call(1);
    const location = named.headers.get('location')!;
    await named.text();
    const source = new EventSource(new URL(location, host.url));
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
      // What is emitted while the client is away must not get lost.
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
    expect(statuses.at(-1)).toBe(204);
    expect(statuses.length).toBeGreaterThanOrEqual(4);
    expect(puppet.calls).toHaveLength(1);
  });

  it('repeats its POST when the line drops, as fetch-event-source does, and gets one run without gap or repeat', async () => {
    // What the library takes from a browser.
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
          // The library hands over events that have nothing but a retry field.
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
      const call = await puppet.call(1);
      call.emit(message('1'), message('2'));
      await following;
      const runId = ids[0]!.split('.')[0]!;
      expect(ids).toEqual([1, 2, 3, 4, 5, 6, 7].map((number) => `${runId}.${number}`));
      expect(contents).toEqual([
        ...['1', '2', 'away', 'back', 'away', 'back'].map((content) => ({ content })),
        { status: 'completed' },
      ]);
      expect(cuts).toBe(2);
      expect(puppet.calls).toHaveLength(1);
    } finally {
      Reflect.deleteProperty(globalThis, 'document');
      Reflect.deleteProperty(globalThis, 'window');
    }
  });
});
