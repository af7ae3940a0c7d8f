/**
 * Takes the pictures of the README from the page itself, while a connection is cut:
 *
 *   npm run pictures              # docs/page.webp, docs/resumed.webp
 *   npm run pictures -- folder    # the same in another folder
 */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { message, QueryModule, toolCall, toolResult } from 'nest-agent-query';
import { PlaygroundModule } from 'nest-agent-query/playground';
import { withPackages } from '../matrix/commands.mjs';

/** The most bytes of all pictures: they are a part of the package. */
const BYTES = 150_000;

/** Of the window, in pixels. The pictures have one and a half times as many, for screens with small pixels. */
const SIZE = { width: 1100, height: 620 };
const SCALE = 1.5;

/** The quality of WebP, from 0 to 100: letters stay clear, and the pictures small. */
const QUALITY = 80;

const QUESTION = 'How many orders has each city, and which one pays last?';

const ROWS = [
  { city: 'Accra', orders: 41, paid: 39 },
  { city: 'Lima', orders: 28, paid: 17 },
  { city: 'Oslo', orders: 12, paid: 12 },
];

const TABLE = `| City | Orders | Paid |
| ---- | -----: | ---: |
${ROWS.map(({ city, orders, paid }) => `| ${city} | ${orders} | ${paid} |\n`).join('')}
`;

/** What follows after the connection was cut. */
const REST = [
  '**Lima** pays last: ',
  '11 of its 28 orders are open. ',
  'Two orders of Accra are open too, ',
  'and none of Oslo.',
];

const folder = resolve(process.argv[2] ?? join(import.meta.dirname, '../../docs'));
await withPackages(import.meta.dirname);
const { startBrowser } = await import('./start-browser.mjs');

const connection = new EventEmitter();
const host = await startHost();
const browser = await startBrowser();
try {
  const page = await browser.newPage({ viewport: SIZE, deviceScaleFactor: SCALE, colorScheme: 'light' });
  await page.goto(`${await host.getUrl()}/playground`);
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill(QUESTION);
  await page.keyboard.press('Enter');
  await page.getByRole('cell', { name: 'Oslo' }).waitFor();
  host.getHttpServer().closeAllConnections();
  await page.getByText(/Connection lost/).waitFor();
  connection.emit('cut');
  await page.getByRole('status').getByText('Answer complete.').waitFor();
  await page.getByText('and none of Oslo.').waitFor();
  const shown = await pictureOf(page);
  await page.getByRole('button', { name: 'On the wire' }).click();
  // The request that has resumed the run.
  await page.getByRole('button', { name: /^GET\s*\/query\/[0-9a-f-]{36}\s*200$/ }).click();
  await page.getByRole('region', { name: 'Events' }).getByText('"completed"').waitFor();
  // It has the header Last-Event-ID.
  await page.getByText('Request', { exact: true }).click();
  await page.getByText('last-event-id').waitFor();
  const resumed = await pictureOf(page);
  assert.ok(
    shown.length + resumed.length < BYTES,
    `The pictures have ${shown.length + resumed.length} bytes.`,
  );
  await writeFile(join(folder, 'page.webp'), shown);
  await writeFile(join(folder, 'resumed.webp'), resumed);
  console.log(`page.webp has ${shown.length} bytes, resumed.webp ${resumed.length}`);
} finally {
  await browser.close();
  await host.close();
}

/** An application whose agent waits in the middle of its answer until the connection is cut. */
async function startHost() {
  async function* answer() {
    yield toolCall('1', 'query', {
      sql: 'select city, count(*) orders, sum(paid) paid from orders group by city',
    });
    yield toolResult('1', ROWS);
    yield message(TABLE);
    await once(connection, 'cut');
    for (const content of REST) yield message(content);
  }
  class Application {}
  Module({
    imports: [QueryModule.forRoot({ handler: answer }), PlaygroundModule.forRoot({ name: 'Orders' })],
  })(Application);
  const app = await NestFactory.create(Application, { logger: ['error', 'warn'] });
  await app.listen(0, '127.0.0.1');
  return app;
}

/** The page as WebP, which is much smaller than what Playwright offers. */
async function pictureOf(page) {
  // Nothing that blinks, and nothing that still moves. The edges of tables follow the scrolling, not the time.
  await page.evaluate(`document.activeElement.blur();
    const moves = document.getAnimations().filter(({ timeline }) => timeline === document.timeline);
    moves.forEach((each) => each.finish())`);
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
  return Buffer.from(data, 'base64');
}
