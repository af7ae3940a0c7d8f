import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { log, message, type Query, type QueryContext, QueryModule, type RunStore } from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import { ADAPTERS, startHost } from '../support/host.js';

/** Reads every file of its session, those of earlier turns first. */
async function* handler({ parts }: Query, { session }: QueryContext) {
  for (const turn of session!.turns) {
    for (const part of turn.parts) {
      if (part.type === 'file') yield message(`earlier ${await (await session!.file(part.sha256)).text()}`);
    }
  }
  for (const part of parts) if (part.type === 'file') yield message(`now ${await part.file.text()}`);
  try {
    await session!.file('0'.repeat(64));
  } catch (error) {
    yield log((error as Error).message);
  }
}

describe.each(ADAPTERS)('A handler on %s', (adapter) => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-session-files-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const large = 'A file that does not stay in memory. '.repeat(10_000);
  const serve = (store: RunStore) => startHost(adapter, QueryModule.forRoot({ handler, store }));
  const ask = async (url: string, content: string) => {
    const file = {
      type: 'file',
      name: 'a.txt',
      mimeType: 'text/plain',
      base64: Buffer.from(content).toString('base64'),
    };
    const response = await fetch(`${url}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ parts: [file], kwargs: { session_id: 's' } }),
    });
    const events = (await response.text()).split('\n\n').filter(Boolean);
    return events.map((event) => (JSON.parse(event.slice('data: '.length)) as { data: unknown }).data);
  };
  const missing = { message: 'No turn of the session has a file with this digest.' };

  it('reads the files of the earlier turns of its session', async () => {
    const host = await serve(await openStore('memory:'));
    await ask(host.url, large);
    expect(await ask(host.url, 'second')).toEqual([
      { content: `earlier ${large}` },
      { content: 'now second' },
      missing,
      { status: 'completed' },
    ]);
    await host.close();
  });

  it('reads them after a restart too, and the session is as it was', async () => {
    const url = `file:${join(directory, 'runs.db')}`;
    let host = await serve(await openStore(url));
    await ask(host.url, large);
    await host.close();
    host = await serve(await openStore(url));
    expect(await ask(host.url, 'second')).toEqual([
      { content: `earlier ${large}` },
      { content: 'now second' },
      missing,
      { status: 'completed' },
    ]);
    expect((await fetch(`${host.url}/query/sessions/s`, { method: 'DELETE' })).status).toBe(204);
    expect((await fetch(`${host.url}/query/sessions/s`)).status).toBe(404);
    expect(await ask(host.url, 'third')).toEqual([
      { content: 'now third' },
      missing,
      { status: 'completed' },
    ]);
    await host.close();
  });
});
