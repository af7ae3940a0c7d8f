import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { ROOT } from '../support/documents.js';
import { startBrowser } from './start-browser.mjs';

export type { Page };

/** `describe` where there is the browser: its package has it for Linux on x64 only. */
export const describeWithBrowser =
  process.platform === 'linux' && process.arch === 'x64' ? describe : describe.skip;

/**
 * Opens a page before the tests of a suite, one for all of them: this browser is a single process, and ends when a page is closed.
 *
 * @param take gets the page
 * @returns the errors of its scripts
 */
export function sharePage(take: (page: Page) => void): string[] {
  const faults: string[] = [];
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
    const page = await browser.newPage();
    page.on('pageerror', ({ message: fault }) => faults.push(fault));
    take(page);
  });
  afterAll(() => browser.close());
  return faults;
}

const AXE = readFileSync(join(ROOT, 'test/browser/node_modules/axe-core/axe.min.js'), 'utf8');

/** What axe finds on a page as it is now, as short texts. */
export async function barriersOn(page: Page): Promise<string[]> {
  if (await page.evaluate(`!('axe' in globalThis)`)) await page.evaluate(AXE);
  return page.evaluate(`axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html }) => id + ': ' + html.slice(0, 200))))`);
}
