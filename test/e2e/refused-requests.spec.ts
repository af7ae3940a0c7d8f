import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DynamicModule } from '@nestjs/common';
import { type HandlerFunction, message, type Question, QueryError, QueryModule } from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import {
  CHANGING,
  FILE_BYTES,
  REFUSED,
  SENT_FILE,
  SENT_SHA256,
  TEXT_BYTES,
  VIEWS,
} from '../support/changing-requests.js';
import { ask, request } from '../support/client.js';
import { describeOnOneAdapter, type Host, startHost } from '../support/host.js';
import { IS_LONG } from '../support/long-form.js';
import { promise } from '../promises.js';

/** Codes of each status, as hosts refuse queries with them. */
const CODES = [
  [400, 'invalid_query'],
  [409, 'session_busy'],
  [413, 'limit_exceeded'],
  [429, 'rate_limited'],
  [503, 'at_capacity'],
] as const;

/** How many handlers execute at the same time. No run waits for one of them. */
const SLOTS = 2;

const STORES = ['memory', 'a file'] as const;

const QUESTION: Question = {
  ...{ key: 'q', kind: 'input', message: 'Which?', schema: { type: 'string', enum: ['Q1', 'Q2'] } },
};

let code: string | undefined;

/** Refuses queries while the test wants it. */
function admit(): void {
  if (code !== undefined) throw new QueryError(code, 'Not now.', { retryAfter: 7 });
}

const handler: HandlerFunction = async function* ({ parts: [part] }, context) {
  const text = part?.type === 'text' ? part.text : '';
  yield message('Working');
  if (text === 'asks') await context.ask([QUESTION]);
  if (text !== 'endless') return;
  await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
};

/** The lists are read hundreds of times, and none of these requests is about a connection. */
const connections = new Agent({ keepAlive: true });
afterAll(() => connections.destroy());

/** Everything that callers see of runs, sessions, turns, questions and files. */
async function allLists({ url }: Host): Promise<unknown> {
  const agent = connections;
  const list = async (path: string) =>
    (await request(url, { method: 'GET', path, agent })).json<Record<string, { id: string }[]>>();
  const [runs, sessions, inputs, usage] = await Promise.all(
    ['/query?limit=500', '/query/sessions?limit=500', '/query/inputs', '/query/usage'].map(list),
  );
  const ids = sessions!['sessions']!.map(({ id }) => encodeURIComponent(id));
  const turns = await Promise.all(ids.map((id) => list(`/query/sessions/${id}`)));
  const file = await request(url, { method: 'HEAD', path: `/query/files/${SENT_SHA256}`, agent });
  return { runs, sessions, inputs, usage, turns, file: file.status };
}

describeOnOneAdapter('Refused requests on %s', (adapter) => {
  describe.each(STORES)('with a store in %s', (where) => {
    let directory: string;
    let host: Host;
    beforeAll(async () => {
      directory = await mkdtemp(join(tmpdir(), 'refused-requests-'));
      const store = where === 'memory' ? undefined : await openStore(`file:${join(directory, 'runs.db')}`);
      const runs = { drainMs: 0, stopDeadlineMs: 100, maxRunning: SLOTS, maxWaiting: 0 };
      const options = {
        handler,
        admit,
        runs,
        limits: { textBytes: TEXT_BYTES, fileBytes: FILE_BYTES },
        ...(store && { store }),
      };
      const imports = [QueryModule.forRoot(options), ...VIEWS];
      host = await startHost(adapter, { module: class {}, imports } as DynamicModule);
    });
    beforeEach(async () => {
      const headers = { 'content-type': 'text/plain', 'content-disposition': 'attachment; filename="a.txt"' };
      await (await request(host.url, { path: '/query/files', headers }, SENT_FILE)).whole();
    });
    // Each test lists everything many times: what the tests before have left would be most of it.
    afterEach(async () => {
      code = undefined;
      await host.agent.eraseOwner('anonymous');
    });
    afterAll(async () => {
      await host.close();
      await rm(directory, { recursive: true });
    });

    let names = 0;
    /** No view knows which store there is: in the short form, each request is sent to a host with one of them. */
    const triedHere = <T>(requests: Record<string, T>): [name: string, T][] =>
      Object.entries(requests).filter((_, index) => IS_LONG || STORES[index % STORES.length] === where);
    /** No view treats a code otherwise than by its status: in the short form, each request is refused with one of them. */
    const codesOf = (name: string) => {
      const index = Object.keys(CHANGING).indexOf(name) % CODES.length;
      return IS_LONG ? CODES : [CODES[index]!];
    };

    it.each(triedHere(CHANGING))(promise('refusal.changes-nothing', '%s'), async (name, prepare) => {
      const send = await prepare(host.url, `name ${++names}`);
      const before = await allLists(host);
      for (const [, each] of codesOf(name)) {
        code = each;
        expect(await (await send('Hello')).whole()).toContain('Not now.');
        expect(await allLists(host)).toEqual(before);
      }
      code = undefined;
      const refusal = await (await send('x'.repeat(TEXT_BYTES + 1))).whole();
      expect(refusal).toMatch(/The text is longer than 1000 bytes|is not of the base64 alphabet/);
      expect(await allLists(host)).toEqual(before);
    });

    it.each(triedHere(CHANGING))(
      promise('refusal.changes-nothing', '%s, without a slot'),
      async (_, prepare) => {
        const send = await prepare(host.url, `name ${++names}`);
        while (host.agent.load().running < SLOTS)
          await (await ask(host.url, 'endless', { headers: { prefer: 'respond-async' } })).whole();
        const before = await allLists(host);
        expect(await (await send('Hello')).whole()).toContain('The service is at capacity');
        expect(await allLists(host)).toEqual(before);
      },
    );

    it.each(triedHere(REFUSED))(promise('refusal.changes-nothing', '%s'), async (_, prepare) => {
      const [send, refusal] = await prepare(host.url, `name ${++names}`);
      const before = await allLists(host);
      expect(await (await send('')).whole()).toContain(refusal);
      expect(await allLists(host)).toEqual(before);
    });
  });
});
