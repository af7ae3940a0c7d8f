import type { Browser, Page } from 'playwright-core';
import { message } from '../../src/index.js';
import { ADAPTERS, type Host, startAgent } from '../support/host.js';
import { ClientPage } from './client-page.js';
import { startBrowser } from './start-browser.mjs';

// The package with the browser has it for Linux on x64 only.
const describeWithBrowser = process.platform === 'linux' && process.arch === 'x64' ? describe : describe.skip;

describeWithBrowser('A page of another origin, in Chromium,', () => {
  let browser: Browser;
  let page: Page;
  let files: ClientPage;

  beforeAll(async () => {
    files = await ClientPage.start();
    browser = await startBrowser();
    page = await browser.newPage();
    await page.goto(files.origin);
  });
  afterAll(async () => {
    await browser.close();
    await files.stop();
  });

  describe.each(ADAPTERS)('on %s', (adapter) => {
    let host: Host;

    beforeEach(async () => {
      host = await startAgent(adapter, async function* () {
        yield message('Started');
      });
    });
    afterEach(() => host.close());

    // A browser asks first for JSON. It sends the other types of a form without asking.
    it.each(['application/json', 'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])(
      'cannot start a run with a body of the type %s',
      async (type) => {
        const read = page.evaluate(
          ([url, contentType]) =>
            fetch(url!, {
              method: 'POST',
              headers: { 'Content-Type': contentType! },
              body: '{"parts":[{"type":"text","text":"Hello"}]}',
            }).then((response) => response.text()),
          [`${host.url}/query`, type],
        );
        await expect(read).rejects.toThrow('Failed to fetch');
        expect(await (await fetch(`${host.url}/query`)).json()).toMatchObject({ runs: [] });
      },
    );
  });
});
