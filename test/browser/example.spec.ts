import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { CORS_OPTIONS, message, QueryError } from '../../src/index.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';
import { ROOT } from '../support/documents.js';
import { ScriptedAgent } from '../support/scripted-agent.js';
import { describeWithBrowser, sharePage } from './shared-page.js';

const TYPES: Record<string, string> = { html: 'text/html; charset=utf-8', js: 'text/javascript' };

describeWithBrowser('The page of examples/browser, in Chromium', () => {
  let page: Page;
  const faults = sharePage((opened) => (page = opened));

  describeOnOneAdapter('on another origin than the endpoint, which is on %s,', (adapter) => {
    let pages: Server;
    let host: Host;
    let agent: ScriptedAgent;
    /** How many requests of the owner are refused. */
    let refusals: number;

    beforeEach(async () => {
      agent = new ScriptedAgent();
      refusals = 0;
      pages = createServer().listen(0, '127.0.0.1');
      await once(pages, 'listening');
      const origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
      const owner = () => {
        if (refusals-- > 0) throw new QueryError('rate_limited', 'Too many queries.', { retryAfter: 1 });
        return undefined;
      };
      const options = { owner, streams: { retryMs: 10 }, limits: { textBytes: 100 } };
      host = await startAgent(adapter, agent.handler, options, (app) =>
        app.enableCors({ origin, ...CORS_OPTIONS }),
      );
      serve(pages, `${host.url}/query`);
      await page.goto(`${origin}/index.html`);
    });
    afterEach(async () => {
      await page.goto('about:blank');
      pages.close();
      await host.close();
      expect(faults).toEqual([]);
    });

    const shows = (id: string, text: string) => page.locator(`#${id}`, { hasText: text }).waitFor();

    it('asks, and resumes after a lost connection', async () => {
      await page.click('#ask');
      const call = await agent.call(1);
      call.emit(message('Hello '));
      await shows('answer', 'Hello');
      (host.app.getHttpServer() as Server).closeAllConnections();
      call.emit(message('again'));
      call.finish();
      await shows('status', 'completed');
      expect(await page.textContent('#answer')).toBe('Hello again');
      expect(agent.calls).toHaveLength(1);
    });

    it('cancels', async () => {
      await page.click('#ask');
      const call = await agent.call(1);
      await page.click('#cancel');
      await shows('status', 'cancelled');
      await call.stopped;
    });

    it('waits as long as the service says, and then asks again', async () => {
      refusals = 1;
      await page.click('#ask');
      (await agent.call(1)).finish();
      await shows('status', 'completed');
      expect(refusals).toBe(-1);
    });

    it('shows why it was refused', async () => {
      await page.fill('#question', 'x'.repeat(101));
      await page.click('#ask');
      await shows('status', 'Part 0: The text is longer than 100 bytes.');
    });
  });
});

/** Serves the page as a host of static files does, with the address of the endpoint in it. */
function serve(server: Server, endpoint: string): void {
  server.on('request', ({ url }, response) => {
    const name = url!.slice(1);
    const type = TYPES[name.split('.').at(-1)!];
    if (!type || name === 'favicon.ico') return response.writeHead(404).end();
    const text = readFileSync(join(ROOT, 'examples/browser', name), 'utf8');
    response
      .writeHead(200, { 'content-type': type })
      .end(text.replace('content="/query"', `content="${endpoint}"`));
  });
}
