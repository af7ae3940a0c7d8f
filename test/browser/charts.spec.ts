import { Module } from '@nestjs/common';
import type { Browser, Page } from 'playwright-core';
import { message, QueryModule } from '../../src/index.js';
import { PlaygroundModule } from '../../src/playground/index.js';
import { eventuallyElsewhere } from '../support/conditions.js';
import { type Host, startHost } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';
import { barriersOn, describeWithBrowser } from './shared-page.js';
import { startBrowser } from './start-browser.mjs';

const CITIES = `
| City | Orders | Paid | Amount |
| ---- | -----: | ---: | -----: |
| **Oslo** | 46 | 40 | 81,204.50 € |
| Lima | 45 | | -3,200.00 € |
| New York | 92 | 80 | 60,123.00 € |
| Total | 183 | 120 | 138,127.50 € |
`;

const DAYS = Array.from({ length: 70 }, (_, at) => {
  const day = new Date(Date.UTC(2026, 0, 1 + at)).toISOString().slice(0, 10);
  return `| ${day} | ${1000 + at} | ${at === 3 ? '' : 900 + at} |\n`;
});
const LINES = `| Day | Sales | Plan |\n| --- | --- | --- |\n${DAYS.join('')}`;

const WITHOUT_CHART = [
  '| City | Orders |\n| --- | --- |\n| Oslo | 46 |',
  '| City | Country |\n| --- | --- |\n| Oslo | Norway |\n| Lima | Peru |',
  '| City | Order ID |\n| --- | --- |\n| Oslo | 881 |\n| Lima | 882 |',
  '<table><tr><th>City</th><th>Orders</th></tr><tr><td colspan="2">Oslo</td></tr><tr><td>Lima</td><td>2</td></tr></table>',
  '<table><tr><th>City</th><th>Orders</th></tr><tr><td>Oslo</td><td>1</td></tr><tr><td>Lima</td><td>2</td></tr></table> After',
];

describeWithBrowser('A table of an answer as a chart, in Chromium,', () => {
  let browser: Browser;
  let page: Page;
  let faults: string[];
  /** The names of the scripts that the page has requested. */
  let scripts: string[];
  let agent: ScriptedAgent;
  let host: Host;

  beforeAll(async () => {
    browser = await startBrowser();
    const context = await browser.newContext({ reducedMotion: 'reduce' });
    context.setDefaultTimeout(20_000);
    page = await context.newPage();
    page.on('pageerror', ({ message: fault }) => faults.push(fault));
    page.on('console', (entry) => {
      if (/Content Security Policy/.test(entry.text())) faults.push(entry.text());
    });
    page.on('request', (request) => {
      const [, name] = /assets\/([a-z-]+?)-[\w-]{8}\.js$/.exec(request.url()) ?? [];
      if (name !== undefined) scripts.push(name);
    });
  });
  afterAll(() => browser.close());

  beforeEach(async () => {
    [faults, scripts] = [[], []];
    agent = new ScriptedAgent();
    @Module({ imports: [QueryModule.forRoot({ handler: agent.handler }), PlaygroundModule.forRoot()] })
    class Application {}
    host = await startHost('express', Application);
    await page.setViewportSize({ width: 1100, height: 760 });
    await page.emulateMedia({ colorScheme: 'light' });
    await page.goto(`${host.url}/playground`);
    await box().waitFor();
  });
  afterEach(async () => {
    await page.evaluate('sessionStorage.clear()');
    await page.goto('about:blank');
    await host.close();
    expect(faults).toEqual([]);
  });

  const box = () => page.getByRole('textbox', { name: 'Message', exact: true });
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const figure = () => page.getByRole('figure');
  const answered = async (...texts: string[]) => {
    const call = agent.call(agent.calls.length + 1);
    await box().fill('Show');
    await box().press('Enter');
    (await call).emit(...texts.map((text, at) => message(text, { id: `${at}` })));
    (await call).finish();
    await page.getByRole('status').getByText('Answer complete.').waitFor();
  };
  const barriers = () => barriersOn(page);

  it('has bars with the numbers of the table, is loaded when it is chosen, and leaves the table in reach', async () => {
    await answered('Hello');
    expect(scripts).toEqual(['index']);
    await answered(CITIES);
    await button('Chart').waitFor();
    expect(scripts).toEqual(['index', 'table-chart']);
    await button('Chart').focus();
    await page.keyboard.press('Enter');
    await figure().waitFor();
    expect(scripts).toEqual(['index', 'table-chart', 'chart-view']);
    expect(await button('Chart').getAttribute('aria-pressed')).toBe('true');
    expect(await page.locator('.bars').allTextContents()).toEqual([
      'OsloOrders: 46Paid: 40LimaOrders: 45Paid: –New YorkOrders: 92Paid: 80',
      'Oslo81,204.50 €Lima-3,200.00 €New York60,123.00 €',
    ]);
    await figure().getByText('Without the row “Total”.').waitFor();
    expect(await figure().locator('figcaption').textContent()).toBe(
      'A bar chart of Orders, Paid, Amount by City, 3 rows. Orders: highest 92 (New York), lowest 45 (Lima). ' +
        'Paid: highest 80 (New York), lowest 40 (Oslo). ' +
        'Amount: highest 81,204.50 € (Oslo), lowest -3,200.00 € (Lima). The table has all numbers.',
    );
    const widths = await page.evaluate<number[]>(
      `Array.from(document.querySelector('.bars').querySelectorAll('.track i'), (each) => each.offsetWidth)`,
    );
    // 46, 40, 45, 92 and 80 of 92.
    expect(widths.map((width) => Math.round((width / widths[3]!) * 92))).toEqual([46, 40, 45, 92, 80]);
    expect(await page.getByRole('table').count()).toBe(0);
    await button('Table').click();
    await page.getByRole('cell', { name: 'New York' }).waitFor();
    expect(await figure().count()).toBe(0);
  });

  it('has lines over dates, whose numbers the arrow keys and the pointer tell', async () => {
    await answered(LINES);
    await button('Chart').click();
    await figure().getByText('The first 50 of 70 rows.').waitFor();
    const plot = figure().getByRole('slider', { name: 'Row of Sales, Plan' });
    const said = () => plot.getAttribute('aria-valuetext');
    expect(await said()).toBe('2026-02-19: Sales 1049, Plan 949');
    await plot.focus();
    await page.keyboard.press('ArrowLeft');
    expect(await said()).toBe('2026-02-18: Sales 1048, Plan 948');
    await page.keyboard.press('Home');
    for (let count = 0; count < 3; count += 1) await page.keyboard.press('ArrowRight');
    await figure().getByText('2026-01-04: Sales 1003, Plan none').waitFor();
    const { x, y, width, height } = (await plot.boundingBox())!;
    await page.mouse.move(x + width - 2, y + height / 2);
    await figure().getByText('2026-02-19: Sales 1049, Plan 949').waitFor();
    // The line of the second column has a gap.
    const pieces = `Array.from(document.querySelectorAll('.plot path'), (each) => each.getAttribute('d').match(/M/g).length)`;
    expect(await page.evaluate(pieces)).toEqual([1, 2]);
  });

  it('stays chosen for its answer, also after a reload', async () => {
    await answered(CITIES);
    await answered(CITIES);
    await button('Chart').nth(1).click();
    await figure().waitFor();
    await page.reload();
    await figure().waitFor();
    const pressed = () =>
      page.evaluate(
        `Array.from(document.querySelectorAll('.as button:last-child'), (each) => each.ariaPressed)`,
      );
    expect(await pressed()).toEqual(['false', 'true']);
    await button('Table').nth(1).click();
    await page.reload();
    await button('Chart').nth(1).waitFor();
    expect(await pressed()).toEqual(['false', 'false']);
  });

  it.each(['light', 'dark'] as const)(
    'has no barrier that axe finds, %s, also on a phone',
    async (colorScheme) => {
      await page.emulateMedia({ colorScheme });
      await answered(CITIES, LINES);
      await button('Chart').first().click();
      await button('Chart').last().click();
      await page.getByRole('slider').waitFor();
      expect(await barriers()).toEqual([]);
      await page.setViewportSize({ width: 390, height: 760 });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
      await eventuallyElsewhere(async () => (await page.getByRole('slider').boundingBox())!.width < 370);
      expect(await barriers()).toEqual([]);
    },
  );

  it('is not offered for tables without numbers to compare', async () => {
    await answered(...WITHOUT_CHART, CITIES);
    await button('Chart').waitFor();
    expect(await page.getByRole('table').count()).toBe(WITHOUT_CHART.length + 1);
    expect(await button('Chart').count()).toBe(1);
  });

  it('is there while the answer goes on, and shows the rows that arrive', async () => {
    const call = agent.call(1);
    await box().fill('Show');
    await box().press('Enter');
    (await call).emit(message('| City | Orders |\n| --- | --- |\n| Oslo | 46 |\n| Lima | 45 |\n'));
    await button('Chart').click();
    await figure().getByText('Lima', { exact: true }).waitFor();
    (await call).emit(message('| Accra | 92 |\n'));
    await figure().getByText('Accra', { exact: true }).waitFor();
    (await call).finish();
    await page.getByRole('status').getByText('Answer complete.').waitFor();
    expect(await page.locator('.bars .number').allTextContents()).toEqual(['46', '45', '92']);
  });

  it('says if it cannot be loaded, and is there after a reload', async () => {
    await answered(CITIES);
    await page.route('**/chart-view-*.js', (route) => route.abort());
    await button('Chart').click();
    await page.getByRole('alert').getByText('The chart cannot be loaded.').waitFor();
    await page.unroute('**/chart-view-*.js');
    await page.reload();
    await figure().waitFor();
  });
});
