import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Controller, Get, Header, Module } from '@nestjs/common';
import type { Page } from 'playwright-core';
import type * as AgentQuery from '../../packages/client/src/index.js';
import { message, type Query, QueryModule } from '../../src/index.js';
import { codeBlocks, ROOT } from '../support/documents.js';
import { describeOnOneAdapter, type Host, startHost } from '../support/host.js';
import { describeWithBrowser, sharePage } from './shared-page.js';

const [PAGE] = codeBlocks('docs/client.md').filter(({ language }) => language === 'html');
const CLIENT = readFileSync(join(ROOT, 'packages/client/dist/browser.js'), 'utf8');

@Controller()
class Files {
  @Get()
  @Header('content-type', 'text/html; charset=utf-8')
  page() {
    return PAGE!.code;
  }

  @Get('browser.js')
  @Header('content-type', 'text/javascript; charset=utf-8')
  client() {
    return CLIENT;
  }
}

describeWithBrowser('The page without a bundler of docs/client.md, in Chromium,', () => {
  let page: Page;
  const faults = sharePage((opened) => (page = opened));

  describeOnOneAdapter('on %s,', (adapter) => {
    let host: Host;

    beforeEach(async () => {
      const limits = { textBytes: 100 };
      const handler = async function* ({ parts }: Query) {
        for (const part of parts)
          yield message(
            part.type === 'text' ? `${part.text}: ` : `${part.name} has ${part.file.size} bytes.`,
          );
      };
      @Module({ imports: [QueryModule.forRoot({ handler, limits })], controllers: [Files] })
      class Application {}
      host = await startHost(adapter, Application);
      await page.goto(host.url);
    });
    afterEach(async () => {
      await page.goto('about:blank');
      await host.close();
      expect(faults).toEqual([]);
    });

    const shows = (text: string) => page.locator('#answer', { hasText: text }).waitFor();

    it('asks with a large file, which is sent before the query', async () => {
      await page.fill('[name=question]', 'Read');
      const buffer = Buffer.alloc(9 * 1024 * 1024, 'a');
      await page.setInputFiles('[name=files]', { name: 'a.txt', mimeType: 'text/plain', buffer });
      await page.click('text=Ask');
      await shows('Read: a.txt has 9437184 bytes.');
    });

    it('shows why it was refused', async () => {
      await page.fill('[name=question]', 'x'.repeat(101));
      await page.click('text=Ask');
      await shows('Part 0: The text is longer than 100 bytes.');
    });

    it('has the progress of an upload in the same file, and loads nothing else', async () => {
      const { told, text, loaded } = await page.evaluate(async () => {
        const address = '/browser.js';
        const { AgentQueryClient } = (await import(address)) as typeof AgentQuery;
        const told: (number | undefined)[][] = [];
        const answer = new AgentQueryClient().ask('Read', {
          files: [new File(['abc'], 'b.txt')],
          onUpload: (...bytes) => told.push(bytes),
        });
        const text = await answer.text();
        const entries = performance.getEntriesByType('resource');
        return { told, text, loaded: entries.map(({ name }) => new URL(name).pathname) };
      });
      expect(text).toBe('Read: b.txt has 3 bytes.');
      expect(told.at(-1)![0]).toBe(told.at(-1)![1]);
      expect(loaded.filter((path) => path.endsWith('.js'))).toEqual(['/browser.js']);
    });
  });
});
