import { Module } from '@nestjs/common';
import type { Browser, Page } from 'playwright-core';
import { message, QueryModule, suggestions } from '../../src/index.js';
import { PlaygroundModule } from '../../src/playground/index.js';
import { eventuallyElsewhere } from '../support/conditions.js';
import { type Host, startHost } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';
import { barriersOn, describeWithBrowser } from './shared-page.js';
import { startBrowser } from './start-browser.mjs';

const TABLE = `
| Order | City | Amount | Share | Day | Left | Note |
| ----- | ---- | ------ | ----- | --- | :--- | ---- |
| 1042 | \`New York\` | 1,204.50 | 12.4 % | 2026-03-04 | 1 | ${'It was delivered in two parcels. '.repeat(4)} |
| 1043 | Oslo | -88 | | 2026-03-05 | 2 | None |
| 1044 | Oslo | € 3 | 9 % | 2026-03-05 | 3 | ${'x'.repeat(200)} |

<table><tr><th colspan="2">Both</th></tr><tr><td>1</td><td>2</td></tr></table>
`;

const FIGURES = `
| column | min | max | distinct | plain | decimals |
| ------ | --- | --- | -------- | ----- | -------- |
| id | 1 | 619999 | 620,000 | 1000 | 1.234 |
| city | Accra | 1,204.5 | 5 | 2026 | 2.5 |
| amount | 7 | 12 | | 77 | 9.125 |
`;

const ORDERS = { name: 'orders.csv', mimeType: 'text/csv', base64: 'aWQKMQo=' };

/** What a browser does while a file is dragged over the page, and when it leaves the page. */
const drag = (type: 'dragover' | 'dragleave') => `{
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File(['a'], 'a.txt'));
  document.body.dispatchEvent(new DragEvent('${type}', { dataTransfer, bubbles: true, cancelable: true }));
}`;

describeWithBrowser('What a new user sees of the page, in Chromium,', () => {
  let browser: Browser;
  let page: Page;
  let faults: string[];
  let agent: ScriptedAgent;
  let host: Host;

  beforeAll(async () => {
    browser = await startBrowser();
    const context = await browser.newContext({ reducedMotion: 'reduce' });
    context.setDefaultTimeout(10_000);
    page = await context.newPage();
    page.on('pageerror', ({ message: fault }) => faults.push(fault));
    page.on('console', (entry) => {
      if (/Content Security Policy/.test(entry.text())) faults.push(entry.text());
    });
  });
  afterAll(() => browser.close());

  beforeEach(async () => {
    faults = [];
    agent = new ScriptedAgent();
    const endpoint = QueryModule.forRoot({ handler: agent.handler });
    @Module({ imports: [endpoint, PlaygroundModule.forRoot({ name: 'Order desk' })] })
    class Application {}
    host = await startHost('express', Application);
    await page.setViewportSize({ width: 390, height: 760 });
    await page.goto(`${host.url}/playground`);
    await box().waitFor();
  });
  afterEach(async () => {
    await page.goto('about:blank');
    await host.close();
    expect(faults).toEqual([]);
  });

  const box = () => page.getByRole('textbox', { name: 'Message', exact: true });
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
  const announces = (text: string) => page.getByRole('status').getByText(text).waitFor();
  const focused = () =>
    eventuallyElsewhere(() => page.evaluate(`document.activeElement.matches('.message')`));
  const ask = async (text: string) => {
    const call = agent.call(agent.calls.length + 1);
    await box().fill(text);
    await box().press('Enter');
    return call;
  };
  const answered = async (text: string, ...envelopes: { type: string; data: object }[]) => {
    const call = await ask(text);
    call.emit(...envelopes);
    call.finish();
    await announces('Answer complete.');
  };
  const barriers = () => barriersOn(page);

  it('aligns numbers to the right, breaks long cells only, and lets a wide table scroll', async () => {
    await answered('Table', message(TABLE));
    const styles = (of: string, name: string) =>
      page.evaluate<string[]>(
        `Array.from(document.querySelectorAll('${of}'), (each) => getComputedStyle(each).${name})`,
      );
    const sides = await styles('.table tr:nth-child(1) td', 'textAlign');
    expect(sides.slice(0, 7)).toEqual(['right', 'left', 'right', 'right', 'left', 'left', 'left']);
    expect(await styles('.table code', 'backgroundColor')).toEqual(['rgba(0, 0, 0, 0)']);
    const frame = page.getByRole('group', { name: 'Table' }).first();
    const cell = await page.locator('.table .long').first().boundingBox();
    expect(cell!.width).toBeGreaterThan(250);
    const heights = await page.evaluate<number[]>(`
      Array.from(document.querySelectorAll('.table td:not(.long)'), (each) => {
        const range = document.createRange();
        range.selectNodeContents(each);
        return range.getBoundingClientRect().height;
      })`);
    // One line.
    expect(Math.max(...heights)).toBeLessThan(40);
    expect((await frame.boundingBox())!.width).toBeLessThan(390);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await frame.focus();
    await page.keyboard.press('ArrowRight');
    await eventuallyElsewhere(() => page.evaluate(`document.querySelector('.table').scrollLeft > 0`));
    expect(await barriers()).toEqual([]);
  });

  it('shows at which edge a table goes on', async () => {
    await answered('Table', message(TABLE));
    const frame = page.locator('.table').first();
    await frame.scrollIntoViewIfNeeded();
    // How dark the darkest line below a row is beside an edge. Where the table goes on, it fades into the page.
    const darkest = async (side: 'left' | 'right') => {
      const { x, y, width, height } = (await frame.boundingBox())!;
      const clip = { x: side === 'left' ? x : x + width - 2, y, width: 2, height };
      const picture = (await page.screenshot({ clip })).toString('base64');
      return page.evaluate<number>(`new Promise((resolve) => {
        const image = new Image();
        image.onload = () => {
          const canvas = document.createElement('canvas');
          [canvas.width, canvas.height] = [image.width, image.height];
          const context = canvas.getContext('2d');
          context.drawImage(image, 0, 0);
          const { data } = context.getImageData(0, 0, image.width, image.height);
          resolve(Math.min(...data.filter((_, index) => index % 4 === 0)));
        };
        image.src = 'data:image/png;base64,${picture}';
      })`);
    };
    expect(await darkest('left')).toBeLessThan(160);
    expect(await darkest('right')).toBeGreaterThan(200);
    await page.evaluate(`document.querySelector('.table').scrollTo(1e6, 0)`);
    expect(await darkest('left')).toBeGreaterThan(200);
    expect(await darkest('right')).toBeLessThan(160);
  });

  it('aligns numbers beside texts, and groups the digits of all numbers of a column', async () => {
    await answered('Figures', message(FIGURES));
    const cells = page.locator('.table tr').nth(1).getByRole('cell');
    expect(await cells.allTextContents()).toEqual(['id', '1', '619,999', '620,000', '1000', '1.234']);
    const sides = await page.evaluate(
      `Array.from(document.querySelectorAll('.table tr:nth-child(1) td'), (each) => getComputedStyle(each).textAlign)`,
    );
    expect(sides).toEqual(['left', 'right', 'right', 'right', 'right', 'right']);
    const texts = page.locator('.table tr').nth(2).getByRole('cell');
    expect(await texts.nth(1).getAttribute('align')).toBeNull();
    expect(await texts.nth(2).textContent()).toBe('1,204.5');
  });

  it('has room for the title and the message on a phone, and one row of controls below an answer', async () => {
    await answered('How many orders has each city of the north?', message('Three.'));
    const heightOf = async (selector: string) => (await page.locator(selector).boundingBox())!.height;
    expect((await page.locator('h1').boundingBox())!.width).toBeGreaterThan(210);
    expect(await heightOf('.composer')).toBeLessThan(62);
    expect(await heightOf('.answer .turn-tools')).toBeLessThan(40);
    await page.getByText('Run', { exact: true }).click();
    await page.locator('.run').getByText('completed').waitFor();
    await button('On the wire').click();
    await button('Conversation').click();
  });

  it('has the name of the agent in its header and its title', async () => {
    expect(await page.locator('header .agent').textContent()).toBe('Order desk');
    expect(await page.title()).toBe('New conversation · Order desk');
  });

  it('suggests what every agent understands, and then what the newest answer offers', async () => {
    expect(await page.locator('.suggestions button').allTextContents()).toEqual(['What can you do?']);
    await button('What can you do?').click();
    const first = await agent.call(1);
    expect(first.text).toBe('What can you do?');
    first.emit(message('I count.'), suggestions([{ text: 'Old' }]));
    first.emit(
      suggestions([{ text: 'count orders', label: 'Count them', files: [ORDERS] }, { text: 'Sum' }]),
    );
    await page.locator('.turns').getByText('I count.').waitFor();
    expect(await page.locator('.suggestions').count()).toBe(0);
    first.finish();
    await announces('Answer complete. 2 suggestions below it.');
    expect(await barriers()).toEqual([]);
    // The keyboard reaches them before the message.
    await button('Sum').focus();
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    const second = await agent.call(2);
    await focused();
    expect(second.text).toBe('count orders');
    expect(second.query.kwargs['session_id']).toBe(first.query.kwargs['session_id']);
    const file = second.query.parts.find((part) => part.type === 'file')!;
    expect([file.name, await file.file.text()]).toEqual(['orders.csv', 'id\n1\n']);
    second.finish();
    await announces('Answer complete.');
    expect(await page.locator('.suggestions').count()).toBe(0);
  });

  it('names a suggestion with its file, and sends it once, with the kwargs that are written', async () => {
    await answered('Hi', suggestions([{ text: 'count', label: 'Count', files: [ORDERS] }]));
    const kwargs = page.getByRole('textbox', { name: 'kwargs', exact: true });
    expect(await kwargs.count()).toBe(0);
    await button('kwargs').click();
    expect(await barriers()).toEqual([]);
    await kwargs.fill('{"a": ');
    expect(await button('Count with the file orders.csv').isDisabled()).toBe(true);
    await kwargs.fill('{"a": 1}');
    await page.evaluate(`{
      const suggestion = document.querySelector('.suggestions button');
      suggestion.click();
      suggestion.click();
    }`);
    const call = await agent.call(2);
    expect(call.query.kwargs).toMatchObject({ a: 1 });
    call.finish();
    await announces('Answer complete.');
    expect(await page.locator('.turn').count()).toBe(2);
  });

  it('says where files can be dropped while they are above the page, also above the requests', async () => {
    const hint = page.getByText('Drop the files to attach them to your next message');
    for (const view of ['Conversation', 'On the wire']) {
      await button(view).click();
      expect(await hint.count()).toBe(0);
      await page.evaluate(drag('dragover'));
      await hint.waitFor();
      expect(await barriers()).toEqual([]);
      await page.evaluate(drag('dragleave'));
      await hint.waitFor({ state: 'detached' });
    }
  });

  it('names a conversation by what is not only a greeting, in the list and in the header', async () => {
    await page.setViewportSize({ width: 1100, height: 760 });
    await answered('Hello!');
    await button(/^Hello!/).waitFor();
    await answered('Count the orders');
    await button(/^Count the orders/).waitFor();
    expect(await page.locator('h1').textContent()).toBe('Count the orders');
    await button('New conversation').click();
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from('A') });
    await answered('');
    await page.reload();
    await button(/^a\.csv/).waitFor();
    await button(/^Count the orders/).waitFor();
    await button('Erase a.csv').click();
    await page.getByRole('dialog').getByText('“a.csv”').waitFor();
  });

  it('hides requests for lists among the requests, until the user wants to see them', async () => {
    await button('On the wire').click();
    await page.getByText('No query yet.').waitFor();
    await button('Conversation').click();
    await answered('Hi');
    await button('On the wire').click();
    const requests = page.getByRole('region', { name: 'Requests' }).getByRole('listitem');
    expect(await requests.locator('.path').allTextContents()).toEqual(['/query']);
    const lists = page.getByRole('switch', { name: 'Lists of runs and conversations' });
    await lists.check();
    await button(/^GET \/query\/sessions/)
      .first()
      .waitFor();
    expect(await barriers()).toEqual([]);
    await button('Conversation').click();
    await button('On the wire').click();
    expect(await lists.isChecked()).toBe(true);
    await lists.uncheck();
    await button(/^GET/).first().waitFor({ state: 'detached' });
    expect(await requests.count()).toBe(1);
  });
});
