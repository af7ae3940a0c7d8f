import { createHash } from 'node:crypto';
import type { Page } from 'playwright-core';
import type * as AgentQuery from '../../packages/client/src/index.js';
import { CORS_OPTIONS, message, type QueryModuleOptions, reasoning } from '../../src/index.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';
import { SHARE_OF_CASES } from '../support/long-form.js';
import { ScriptedAgent } from '../support/scripted-agent.js';
import { ClientPage } from './client-page.js';
import { describeWithBrowser, sharePage } from './shared-page.js';

/** What the page has loaded; the functions below execute in the page. */
declare const agentQuery: typeof AgentQuery;

describeWithBrowser('The typed client in Chromium', () => {
  let page: Page;
  sharePage((opened) => (page = opened));
  let files: ClientPage;

  beforeAll(async () => {
    files = await ClientPage.start();
    await page.goto(files.origin);
    await page.waitForFunction(() => 'agentQuery' in globalThis);
  });
  afterAll(() => files.stop());

  describeOnOneAdapter('of a service on %s, on another origin,', (adapter) => {
    let host: Host;
    let agent: ScriptedAgent;

    const start = async (options: Partial<QueryModuleOptions> = {}, handler = agent.handler) => {
      host = await startAgent(adapter, handler, { streams: { retryMs: 1 }, ...options }, (app) =>
        app.enableCors({ origin: files.origin, ...CORS_OPTIONS }),
      );
    };
    beforeEach(() => (agent = new ScriptedAgent()));
    afterEach(() => host.close());

    it('yields each envelope once and in order, wherever its connection is cut', async () => {
      let runs = 0;
      await start({}, async function* () {
        runs += 1;
        for (const envelope of [message('Hello '), reasoning('é'), message('\u{1f600} again')]) {
          yield envelope;
          await new Promise((resolve) => setImmediate(resolve));
        }
      });
      const AT_ONCE = 100;
      // No part of an envelope is shorter than three bytes.
      const STEP = SHARE_OF_CASES === 1 ? 1 : 3;
      let asked = 0;
      for (let isCut = true; isCut; asked += AT_ONCE) {
        const proxies = await Promise.all(
          Array.from({ length: AT_ONCE }, () => CuttingProxy.before(host.url)),
        );
        proxies.forEach((proxy, index) => proxy.cutAfter((asked + index) * STEP));
        const answers = await page.evaluate(
          (urls) =>
            Promise.all(
              urls.map(async (baseUrl) => {
                const answer = new agentQuery.AgentQueryClient({ baseUrl }).ask('Hello');
                const seen: unknown[] = [];
                for await (const { data } of answer) seen.push(data);
                return seen;
              }),
            ),
          proxies.map(({ url }) => url),
        );
        for (const [index, answer] of answers.entries())
          expect([(asked + index) * STEP, ...answer]).toEqual([
            (asked + index) * STEP,
            { content: 'Hello ' },
            { content: 'é' },
            { content: '\u{1f600} again' },
            { status: 'completed' },
          ]);
        isCut = proxies.every(({ cuts }) => cuts === 1);
        await Promise.all(proxies.map((proxy) => proxy.stop()));
      }
      expect(asked * STEP).toBeGreaterThan(400);
      expect(runs).toBe(asked);
    }, 120_000);

    it('sends files in slices, with and without their progress', async () => {
      await start();
      const asking = page.evaluate(async (baseUrl) => {
        const client = new agentQuery.AgentQueryClient({ baseUrl });
        const bytes = new Uint8Array(5_000_000).fill(65);
        const progress: [number, number | undefined][] = [];
        const options = { files: [new File([bytes], 'a.txt', { type: 'text/plain' }), bytes.subarray(7)] };
        const first = await client
          .ask('Hello', { ...options, onUpload: (...told) => progress.push(told) })
          .text();
        const second = await client.ask('Hello', options).text();
        return { first, second, progress };
      }, host.url);
      const digestOf = (length: number) =>
        createHash('sha256').update(Buffer.alloc(length, 65)).digest('hex');
      for (const number of [1, 2]) {
        const call = await agent.call(number);
        expect(call.query.parts).toMatchObject([
          { type: 'text', text: 'Hello' },
          { name: 'a.txt', mimeType: 'text/plain', sha256: digestOf(5_000_000) },
          { name: 'file', mimeType: 'application/octet-stream', sha256: digestOf(4_999_993) },
        ]);
        call.emit(message(`answer ${number}`));
        call.finish();
      }
      const { first, second, progress } = await asking;
      expect([first, second]).toEqual(['answer 1', 'answer 2']);
      const [sent, total] = progress.at(-1)!;
      expect(sent).toBe(total);
      expect(total).toBeGreaterThan(13_300_000);
    });

    it('cancels a run, and an upload', async () => {
      await start();
      const asking = page.evaluate(async (baseUrl) => {
        const client = new agentQuery.AgentQueryClient({ baseUrl });
        const answer = client.ask('Hello');
        await answer.runId;
        const run = await answer.cancel();
        const { status } = await answer.result();

        let isSending = () => undefined as void;
        const sends = new Promise<void>((resolve) => (isSending = resolve));
        const files = [new Uint8Array(60_000_000)];
        const upload = client.ask('Hello', { files, onUpload: () => isSending() });
        const text = upload.text().catch((error: AgentQuery.AgentQueryError) => error.code);
        await sends;
        await upload.cancel();
        return [run!.status, status, await text];
      }, host.url);
      expect(await asking).toEqual(['cancelled', 'cancelled', 'cancelled']);
      expect(agent.calls).toHaveLength(1);
    });

    it('tells why a query is refused, also while it is still being sent', async () => {
      await start({ limits: { fileBytes: 1_000 } });
      const codes = await page.evaluate(async (baseUrl) => {
        const client = new agentQuery.AgentQueryClient({ baseUrl });
        const codeOf = (answer: AgentQuery.Answer) =>
          answer
            .text()
            .catch((error: AgentQuery.AgentQueryError) => [error.code, error.status, error.message]);
        const files = [new Uint8Array(1_001)];
        return [
          await codeOf(client.ask([])),
          await codeOf(client.ask('Hello', { files })),
          await codeOf(client.ask('Hello', { files, onUpload: () => undefined })),
        ];
      }, host.url);
      const tooLarge = ['limit_exceeded', 413, 'Part 1: The file is larger than 1000 bytes.'];
      expect(codes).toEqual([
        ['invalid_query', 400, '"/parts" must contain at least one part.'],
        tooLarge,
        tooLarge,
      ]);
    });
  });
});
