import type { Page } from 'playwright-core';
import { message } from '../../src/index.js';
import { describeOnBothAdapters, type Host, startAgent } from '../support/host.js';
import { ClientPage } from './client-page.js';
import { describeWithBrowser, sharePage } from './shared-page.js';

describeWithBrowser('A page of another origin, in Chromium,', () => {
  let page: Page;
  sharePage((opened) => (page = opened));
  let files: ClientPage;

  beforeAll(async () => {
    files = await ClientPage.start();
    await page.goto(files.origin);
  });
  afterAll(() => files.stop());

  describeOnBothAdapters('on %s', (adapter) => {
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
