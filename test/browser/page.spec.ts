import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Module } from '@nestjs/common';
import { A2aModule } from 'nest-agent-query-protocols/a2a';
import { AgUiModule } from 'nest-agent-query-protocols/ag-ui';
import { AiSdkModule } from 'nest-agent-query-protocols/ai-sdk';
import { OpenAiModule } from 'nest-agent-query-protocols/openai';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import {
  file,
  log,
  message,
  progress,
  QueryError,
  QueryModule,
  reasoning,
  result,
  source,
  toolCall,
  toolResult,
  usage,
} from '../../src/index.js';
import { PlaygroundModule } from '../../src/playground/index.js';
import { eventuallyElsewhere } from '../support/conditions.js';
import { describeOnOneAdapter, type Host, startHost } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';
import { barriersOn, describeWithBrowser } from './shared-page.js';
import { startBrowser } from './start-browser.mjs';

/** What a browser does when a file is dropped, and another one is pasted. */
const DROP_AND_PASTE = `
  const given = (name) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([name], name, { type: 'text/plain' }));
    return transfer;
  };
  const event = { bubbles: true, cancelable: true };
  document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: given('b.txt'), ...event }));
  const box = document.querySelector('.message');
  box.dispatchEvent(new ClipboardEvent('paste', { clipboardData: given('c.txt'), ...event }));`;

/** The colour of what is selected, as the user has chosen it. */
const SYSTEM_HIGHLIGHT = `{
  const shown = document.body.appendChild(document.createElement('p'));
  shown.style.background = 'Highlight';
  shown.style.forcedColorAdjust = 'none';
  const { backgroundColor } = getComputedStyle(shown);
  shown.remove();
  backgroundColor;
}`;

// A picture of one point.
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const MARKDOWN = `## Result

| City | Orders |
| ---- | -----: |
| Oslo | 12 |

Some **bold** text, [a link](https://example.com/), ![a picture](https://example.com/a.png), \\(a_1 * b_1\\) and $x_1$.

<img src="https://example.com/b.png" onerror="document.title='broken'"><b onclick="x()">raw</b>
[a script](javascript:alert(1)) and [a path](/query).

\`\`\`js
const answer = 42;
\`\`\`
`;

/** It tries to cover the page, to look like a control of the page, and to be found first with the keyboard. */
const HOSTILE = `<div class="with-drawer"><div class="sidebar">Covered</div><div class="backdrop"></div></div>

<style>p { color: red }</style><base href="https://example.com/"><p style="color: red" tabindex="5">Red</p>

<button class="primary">Stop</button>

<div class="code"><button class="copy-code">Copy code</button><details><summary></summary><pre>rm</pre></details></div>

\`\`\`sh
ls
\`\`\`
`;

describeWithBrowser('The page, in Chromium', () => {
  let browser: Browser;
  let context: BrowserContext;
  // These two for all tests: this browser is a single process, and ends when a page is closed.
  let page: Page;
  let other: Page;
  /** Exceptions, and what the content security policy forbids. */
  let faults: string[];
  let origins: Set<string>;

  beforeAll(async () => {
    browser = await startBrowser();
    context = await browser.newContext({
      reducedMotion: 'reduce',
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    context.setDefaultTimeout(10_000);
    other = await context.newPage();
    page = await context.newPage();
    for (const each of [page, other]) {
      each.on('pageerror', ({ message: fault }) => faults.push(fault));
      each.on('console', (entry) => {
        if (/Content Security Policy/.test(entry.text())) faults.push(entry.text());
      });
      each.on('request', (request) => {
        if (!/^(?:blob|data):/.test(request.url())) origins.add(new URL(request.url()).origin);
      });
    }
  });
  afterAll(() => browser.close());

  describeOnOneAdapter('on %s, under a prefix,', (adapter) => {
    let agent: ScriptedAgent;
    let host: Host;
    let address: string;
    /** The key that the endpoint wants. */
    let key: string | undefined;
    /** How many requests that resume a stream are refused with 503. */
    let refusals: number;

    beforeEach(async () => {
      agent = new ScriptedAgent();
      [key, refusals, faults, origins] = [undefined, 0, [], new Set()];
      const owner = ({ headers }: { headers: Record<string, unknown> }) => {
        if (headers['last-event-id'] !== undefined && refusals-- > 0)
          throw new QueryError('unavailable', 'The store restarts.', { retryAfter: 1 });
        if (key !== undefined && headers['authorization'] !== `Bearer ${key}`)
          throw new QueryError('unauthorized', 'The key is not valid.');
        return undefined;
      };
      const runs = { drainMs: 0, stopDeadlineMs: 100 };
      const query = QueryModule.forRoot({ handler: agent.handler, owner, runs, streams: { retryMs: 10 } });
      const views = [AiSdkModule, AgUiModule, OpenAiModule, A2aModule].map((view) => view.forRoot());
      const protocols = ['ai-sdk', 'ag-ui', 'openai', 'a2a'];
      @Module({ imports: [query, ...views, PlaygroundModule.forRoot({ protocols })] })
      class Application {}
      host = await startHost(adapter, Application, (app) => app.setGlobalPrefix('api/v1'));
      address = `${host.url}/api/v1/playground`;
      await page.setViewportSize({ width: 1100, height: 760 });
      await page.emulateMedia({ colorScheme: 'light' });
      await page.goto(address);
      await box().waitFor();
    });
    afterEach(async () => {
      await page.evaluate('sessionStorage.clear()');
      await page.goto('about:blank');
      await other.goto('about:blank');
      await host.close();
      expect(faults).toEqual([]);
      expect([...origins].filter((origin) => origin !== 'null')).toEqual([host.url]);
    });

    const box = (on = page) => on.getByRole('textbox', { name: 'Message', exact: true });
    const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
    const shows = (text: string | RegExp, on = page) =>
      on.locator('.turns').getByText(text).first().waitFor();
    const announces = (text: string) => page.getByRole('status').getByText(text).waitFor();
    const ask = async (text: string) => {
      const call = agent.call(agent.calls.length + 1);
      await box().fill(text);
      await box().press('Enter');
      return call;
    };
    const barriers = () => barriersOn(page);
    /** The field for kwargs. It is behind a button, until it has some. */
    const kwargsField = async () => {
      const field = page.getByRole('textbox', { name: 'kwargs', exact: true });
      if ((await field.count()) === 0) await button('kwargs').click();
      return field;
    };
    const focused = (name: string) =>
      eventuallyElsewhere(async () => {
        const { label, text } = await page.evaluate<{ label: string; text: string }>(
          '({ label: document.activeElement.ariaLabel, text: document.activeElement.textContent })',
        );
        return (label ?? text) === name;
      });

    it('sends with Enter, breaks the line with Shift+Enter, and shows Markdown while it arrives', async () => {
      await box().fill('One');
      await box().press('Shift+Enter');
      // While characters are composed, Enter chooses one.
      await page.evaluate(`document.activeElement.dispatchEvent(new KeyboardEvent('keydown',
        { key: 'Enter', isComposing: true, bubbles: true }))`);
      await page.keyboard.type('two');
      await box().press('Enter');
      const call = await agent.call(1);
      expect(call.text).toBe('One\ntwo');
      expect(await box().inputValue()).toBe('');
      for (const piece of MARKDOWN.match(/[^]{1,7}/g)!) call.emit(message(piece));
      await page.locator('.markdown .hljs-keyword', { hasText: 'const' }).waitFor();
      expect(await page.locator('.markdown td').allTextContents()).toEqual(['Oslo', '12']);
      const link = page.locator('.markdown a', { hasText: 'a link' });
      expect([await link.getAttribute('target'), await link.getAttribute('rel')]).toEqual([
        '_blank',
        'noopener noreferrer',
      ]);
      expect(await page.locator('.markdown').textContent()).toContain('\\(a_1 * b_1\\) and $x_1$.');
      expect(await page.locator('.markdown :is(img, [onclick])').count()).toBe(0);
      expect(await page.locator('.markdown a[href]').count()).toBe(2);
      call.finish();
      await announces('Answer complete.');
      expect(await page.title()).toContain('One');
    });

    it('shows hostile and unreadable Markdown without harm, and links that are defined at the end', async () => {
      const call = await ask('Hostile');
      call.emit(message(HOSTILE));
      await page.locator('.markdown').getByText('Covered').waitFor();
      expect(await page.locator('.turns :is(.with-drawer, .sidebar, .backdrop)').count()).toBe(0);
      expect(await button('Stop').count()).toBe(1);
      await button('Copy code').click();
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe('ls');
      expect(await page.locator('.markdown [tabindex]:not([tabindex="0"])').count()).toBe(0);
      call.emit(
        message('\n\nSee [the docs][1].\n\n'),
        message('> '.repeat(3000), { id: 'b' }),
        message('After', { id: 'c' }),
      );
      await shows('After');
      await shows('> > > >');
      call.emit(message(`\n\n${'ab_.@-'.repeat(30_000)}\n\nSoon`, { id: 'c' }));
      await shows('Soon');
      call.emit(message('\n\n[1]: https://example.com/docs', { id: 'c' }));
      call.emit(message('[more][2]\n\n[2]: https://example.com/more', { id: 'd' }));
      call.finish();
      await announces('Answer complete.');
      const more = page.getByRole('link', { name: 'more' });
      expect(await more.getAttribute('href')).toBe('https://example.com/more');
    });

    it('shows texts at once that never end what they begin', async () => {
      const call = await ask('Open');
      ['<div ' + '<'.repeat(200_000), '[\n'.repeat(150_000), '\\( '.repeat(50_000), 'After'].forEach(
        (text, at) => call.emit(message(text, { id: `${at}` })),
      );
      await shows('After');
      call.finish();
      await announces('Answer complete.');
    });

    it('goes on with an answer after a reload in the middle of it, and in a second window', async () => {
      const call = await ask('Count');
      call.emit(message('One, '));
      await shows('One,');
      await page.reload();
      await shows('Count');
      await shows('One,');
      await other.goto(page.url());
      await shows('One,', other);
      await shows('Count', other);
      call.emit(message('two.'));
      call.finish();
      await shows('One, two.');
      await shows('One, two.', other);
      expect(agent.calls).toHaveLength(1);
    });

    it('shows reasoning, tools, logs, progress, files, sources and usage', async () => {
      const call = await ask('All');
      call.emit(
        log('Reading'),
        progress(1, { total: 4, unit: 'rows', label: 'Counting' }),
        reasoning('I think.'),
      );
      await page.getByRole('progressbar', { name: 'Counting 1 of 4 rows' }).waitFor();
      call.emit(toolCall('1', 'add', { a: 1 }), toolResult('1', 'No number.', { isError: true }));
      call.emit(message('Done.'), file({ name: 'a.png', mimeType: 'image/png', content: PICTURE }));
      call.emit(file({ name: 'a\u202e.csv', mimeType: 'text/csv', content: Buffer.from('a,b') }));
      call.emit(
        source('https://example.com/', { title: 'The source' }),
        usage({ inputTokens: 1, outputTokens: 2 }),
      );
      call.finish();
      await page.getByText('Run · 1 token in, 2 tokens out').waitFor();
      await page.getByText('1 log line').click();
      await shows('Reading');
      expect(await page.getByText('I think.').isVisible()).toBe(false);
      await page.getByText('Reasoning').click();
      await page.getByText('I think.').waitFor();
      await page.getByText('add failed').click();
      await shows('No number.');
      await page.locator('img[alt="a.png"]').waitFor();
      await button('View a_.csv').click();
      await page.getByRole('dialog', { name: 'a_.csv' }).getByText('a,b').waitFor();
      expect(await barriers()).toEqual([]);
      await button('Close').click();
      const downloading = page.waitForEvent('download');
      await button('Download a_.csv').click();
      expect((await downloading).suggestedFilename()).toBe('a_.csv');
      expect(await page.getByRole('link', { name: 'The source' }).getAttribute('rel')).toBe(
        'noopener noreferrer',
      );
    });

    it('shows a result, the run of an answer with its metadata, and what was used', async () => {
      const session = 'used';
      const call = agent.call(1);
      const body = JSON.stringify({
        parts: [{ type: 'text', text: 'Count' }],
        kwargs: { session_id: session },
        metadata: { team: 'sales' },
      });
      const headers = { 'content-type': 'application/json' };
      const response = fetch(`${host.url}/api/v1/query`, { method: 'POST', headers, body });
      (await call).emit(result({ count: 12 }), usage({ inputTokens: 1_000, outputTokens: 20 }));
      (await call).finish();
      await (await response).text();
      expect(await page.locator('.used').count()).toBe(0);
      await page.goto(`${address}#session=${session}`);
      await page.getByRole('heading', { name: 'Result' }).waitFor();
      await shows('"count": 12');
      await page.getByText('This conversation: 1,000 tokens in, 20 tokens out').waitFor();
      await page.getByText('Run · 1,000 tokens in').click();
      const fact = page.locator('.run dl div', { hasText: 'team' });
      await fact.getByText('sales').waitFor();
      await page.locator('.run').getByText('completed').waitFor();
      expect(await barriers()).toEqual([]);
      const next = await ask('Again');
      next.emit(usage({ inputTokens: 1, outputTokens: 1 }));
      next.finish();
      await page.getByText('This conversation: 1,001 tokens in, 21 tokens out').waitFor();
      await page.getByText('Today: 1,001 tokens in, 21 tokens out').waitFor();
    });

    it('lets disappear what a restart makes void', async () => {
      const events = [
        message('Kept. '),
        message('Void.'),
        toolCall('1', 'add', {}),
        { type: 'restarted', data: { attempt: 2, from: 1 } },
        message('Again.'),
        { type: 'done', data: { status: 'completed' } },
      ].map((envelope, index) => `id: run.${index + 1}\ndata: ${JSON.stringify(envelope)}\n\n`);
      const headers = { 'content-type': 'text/event-stream', 'content-location': '/api/v1/query/run' };
      await page.route('**/query', (route) => route.fulfill({ headers, body: events.join('') }));
      await box().fill('Hi');
      await button('Send').click();
      await announces('Answer complete.');
      await page.unroute('**/query');
      expect((await page.locator('.markdown').allTextContents()).map((text) => text.trim())).toEqual([
        'Kept. Again.',
      ]);
      expect(await page.locator('.tool').count()).toBe(0);
    });

    it('shows how much of a large file is sent, before its query', async () => {
      const network = await context.newCDPSession(page);
      const bytesPerSecond = (uploadThroughput: number) =>
        network.send('Network.emulateNetworkConditions', {
          offline: false,
          latency: 0,
          downloadThroughput: -1,
          uploadThroughput,
        });
      const folder = mkdtempSync(join(tmpdir(), 'page-'));
      // The browser reads a file itself. Bytes that are given to it here pass through several messages, which takes seconds.
      const path = join(folder, 'large.bin');
      writeFileSync(path, Buffer.alloc(9 * 1024 * 1024, 'a'));
      await page.locator('input[type=file]').setInputFiles(path);
      await bytesPerSecond(1_000_000);
      await button('Send').click();
      await page.getByRole('progressbar', { name: /^Uploading [1-9]\d? %$/ }).waitFor();
      expect(agent.calls).toEqual([]);
      await bytesPerSecond(-1);
      const call = await agent.call(1);
      expect(call.query.parts).toMatchObject([{ name: 'large.bin', mimeType: 'application/octet-stream' }]);
      call.finish();
      await announces('Answer complete.');
      expect(await page.getByRole('progressbar').count()).toBe(0);
      await network.detach();
      rmSync(folder, { recursive: true });
    });

    it('sends files that are picked, dropped and pasted, and kwargs', async () => {
      await page
        .locator('input[type=file]')
        .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('A') });
      await page.evaluate(DROP_AND_PASTE);
      await button('Remove c.txt').click();
      const kwargs = await kwargsField();
      await kwargs.fill('{"a": ');
      await page.getByRole('alert').getByText('kwargs must be JSON').waitFor();
      expect(await button('Send').isDisabled()).toBe(true);
      await kwargs.fill('{"a": [1]}');
      await button('Send').click();
      const call = await agent.call(1);
      expect(call.query.kwargs).toMatchObject({ a: [1] });
      const files = call.query.parts.map((part) => (part.type === 'file' ? part.name : part.type));
      expect(files).toEqual(['a.txt', 'b.txt']);
      call.emit(message('Read.'));
      await shows('Read.');
      await page.reload();
      await shows('Read.');
      call.finish();
      await announces('Answer complete.');
      await button('Regenerate').click();
      (await agent.call(2)).finish();
      expect(agent.calls[1]!.query.parts).toHaveLength(2);
      await button('On the wire').click();
      await button(/^POST/).first().click();
      await page.getByText('Request', { exact: true }).click();
      await page.getByText('"base64": "… 1 byte"').waitFor();
    });

    it('shows a run as the clients of other protocols get it', async () => {
      const call = await ask('Hi');
      call.emit(message('Hello'));
      call.finish();
      await announces('Answer complete.');
      await button('On the wire').click();
      for (const [protocol, event] of [
        ['AI SDK', '"type":"text-delta"'],
        ['AG-UI', '"type":"TEXT_MESSAGE_CONTENT"'],
        ['OpenAI', '"type":"response.output_text.delta"'],
        ['A2A', '"artifactUpdate"'],
      ]) {
        await page.getByRole('combobox', { name: 'Show the run as' }).selectOption(protocol!);
        await page.getByRole('region', { name: 'Events' }).getByText(event!).first().waitFor();
        await button('Copy as client code').waitFor({ state: 'detached' });
      }
      expect(await barriers()).toEqual([]);
    });

    it('opens the conversation that kwargs.session_id names', async () => {
      const kwargs = await kwargsField();
      const known = await ask('First');
      known.finish();
      await announces('Answer complete.');
      const { session_id: first } = known.query.kwargs;
      await button('New conversation').click();
      await kwargs.fill('{"session_id": ""}');
      await page.getByRole('alert').getByText('session_id must be a text that is not empty').waitFor();
      await kwargs.fill('{"session_id": "orders", "a": 1}');
      const named = await ask('Second');
      expect(named.query.kwargs).toEqual({ session_id: 'orders', a: 1 });
      expect(new URL(page.url()).hash).toBe('#session=orders');
      expect(await kwargs.inputValue()).toBe('{"a":1}');
      named.finish();
      await announces('Answer complete.');
      await kwargs.fill(JSON.stringify({ session_id: first }));
      const again = await ask('Third');
      expect(again.query.kwargs).toEqual({ session_id: first });
      expect(await kwargs.inputValue()).toBe('');
      again.finish();
      await announces('Answer complete.');
      expect(await page.locator('.question .text').allTextContents()).toEqual(['First', 'Third']);
    });

    it('stops the run that executes, not the one that waits', async () => {
      const first = await ask('First');
      first.emit(message('Begun'));
      await shows('Begun');
      await box().fill('Second');
      await box().press('Enter');
      await page.locator('.turn').nth(1).waitFor();
      await button('Stop').click();
      await first.stopped;
      const second = await agent.call(2);
      second.finish();
      await announces('Answer complete.');
      await page.locator('.turn').first().getByText('Stopped.').waitFor();
    });

    it('keeps what is written and not sent, while the user looks at something else', async () => {
      (await ask('First')).finish();
      await announces('Answer complete.');
      await button('New conversation').click();
      await box().fill('Draft');
      await page.evaluate(DROP_AND_PASTE);
      await button('On the wire').click();
      await page.evaluate(DROP_AND_PASTE);
      await button('Conversation').click();
      expect(await box().inputValue()).toBe('Draft');
      expect(await page.locator('.composer .chip .name').allTextContents()).toEqual([
        'b.txt',
        'c.txt',
        'b.txt',
        'c.txt',
      ]);
      await button(/^First/).click();
      await shows('First');
      expect(await box().inputValue()).toBe('');
      await button('New conversation').click();
      expect(await box().inputValue()).toBe('Draft');
      expect(await page.locator('.composer .chip').count()).toBe(4);
    });

    it('shows in an idle window what another one asks, in the order of the service', async () => {
      const first = await ask('One');
      first.finish();
      await announces('Answer complete.');
      await other.goto(page.url());
      await shows('One', other);
      const second = agent.call(2);
      await box(other).fill('Two');
      await box(other).press('Enter');
      (await second).emit(message('Second answer.'));
      await shows('Two');
      await shows('Second answer.');
      await page.getByRole('button', { name: /answering/ }).waitFor();
      (await second).finish();
      await announces('Answer complete.');
      (await ask('Three')).finish();
      await shows('Three', other);
      const questions = (on: Page) => on.locator('.question .text').allTextContents();
      expect(await questions(page)).toEqual(['One', 'Two', 'Three']);
      expect(await questions(other)).toEqual(['One', 'Two', 'Three']);
      await page.getByRole('button', { name: /just now/ }).waitFor();
    });

    it('lists what a conversation has become, also when its list was requested before', async () => {
      await page.getByText('What you ask is kept here.').waitFor();
      let hasOld: () => void;
      let release: () => void;
      const old = new Promise<void>((resolve) => (hasOld = resolve));
      const held = new Promise<void>((resolve) => (release = resolve));
      let count = 0;
      await page.route('**/sessions', async (route) => {
        if ((count += 1) > 1) return route.continue();
        const response = await route.fetch();
        hasOld();
        await held;
        await route.fulfill({ response });
      });
      const call = await ask('One');
      await old;
      call.finish();
      await announces('Answer complete.');
      release!();
      await page.getByRole('button', { name: /just now/ }).waitFor();
      await page.unroute('**/sessions');
    });

    it('puts the cursor into the message of a new conversation at once', async () => {
      (await ask('One')).finish();
      await announces('Answer complete.');
      const focused = await page.evaluate(`(async () => {
        document.querySelector('button.new').click();
        await Promise.resolve();
        return document.activeElement.getAttribute('aria-label');
      })()`);
      expect(focused).toBe('Message');
    });

    it('places a question that is asked while the turns are loaded after them', async () => {
      (await ask('One')).finish();
      await announces('Answer complete.');
      let release: () => void;
      const held = new Promise<void>((resolve) => (release = resolve));
      await page.route('**/sessions/*', async (route) => {
        await held;
        await route.continue();
      });
      await page.reload();
      const call = await ask('Two');
      release!();
      await shows('One');
      await page.unroute('**/sessions/*');
      expect(await page.locator('.question .text').allTextContents()).toEqual(['One', 'Two']);
      call.finish();
      await announces('Answer complete.');
    });

    it('sends the metadata again after a reload, and knows the question although it was loaded before the response', async () => {
      await (await kwargsField()).fill('{"a": 1}');
      let isSent: () => void;
      const sent = new Promise<void>((resolve) => (isSent = resolve));
      await page.route('**/query', async (route) => {
        const request = route.request();
        if (request.method() !== 'POST') return route.continue();
        // The service gets the query, and the page gets no response.
        const [headers, body] = [await request.allHeaders(), request.postData()!];
        void fetch(request.url(), { method: 'POST', headers, body }).then((response) => response.text());
        isSent();
      });
      const call = await ask('Hi');
      await sent;
      await page.unroute('**/query');
      await page.reload();
      await shows('Hi');
      await shows('{"a":1}');
      call.finish();
      await announces('Answer complete.');
      await page.reload();
      await button('Regenerate').click();
      const again = await agent.call(2);
      expect(again.query.kwargs).toMatchObject({ a: 1 });
      again.finish();
      await announces('Answer complete.');
    });

    it('gives the focus to the next question when the control that had it is gone', async () => {
      await button('What can you do?').click();
      await focused('Message');
      (await agent.call(1)).fail(new QueryError('handler_failed', 'The model is gone.'));
      await button('Retry').click();
      await focused('Message');
      (await agent.call(2)).finish();
      await announces('Answer complete.');
    });

    it('copies an answer also where the clipboard is not permitted, and keeps the focus', async () => {
      const call = await ask('Hi');
      call.emit(message('One, '), toolCall('1', 'add', {}), message('two.'));
      await shows('two.');
      await page.evaluate(
        `navigator.clipboard.writeText = () => Promise.reject(new Error('Not permitted.'))`,
      );
      await button('Copy').click();
      await button('Copied').waitFor();
      await focused('Copied');
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe('One, two.');
      call.finish();
      await announces('Answer complete.');
    });

    it('takes the text, not the picture, of what a program for tables has copied', async () => {
      await page.evaluate(`
        const clipboardData = new DataTransfer();
        clipboardData.items.add('A1', 'text/plain');
        clipboardData.items.add(new File(['x'], 'table.png', { type: 'image/png' }));
        const pasted = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
        document.querySelector('.message').dispatchEvent(pasted)`);
      await box().press('a');
      expect(await page.locator('.composer .chip').count()).toBe(0);
    });

    it('gives no document of an answer the origin of the page', async () => {
      const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>parent.x = 1</script></svg>');
      const call = await ask('Pictures');
      call.emit(file({ name: 'a.png', mimeType: 'image/png', content: PICTURE }));
      call.emit(file({ name: 'b.svg', mimeType: 'Image/SVG+xml; charset=utf-8', content: svg }));
      call.emit(file({ name: 'c.svg', mimeType: 'image/png+xml', content: svg }));
      call.finish();
      const addressOf = (name: string) => page.locator(`img[alt="${name}"]`).getAttribute('src');
      expect(await addressOf('a.png')).toMatch(/^blob:/);
      expect(await addressOf('b.svg')).toBe(`data:image/svg+xml;base64,${svg.toString('base64')}`);
      await button('View c.svg').waitFor();
      expect(await page.locator('.turns img').count()).toBe(2);
      const blobs =
        'globalThis.blobs = []; const create = URL.createObjectURL; URL.createObjectURL = (blob) => (blobs.push(blob.type), create(blob))';
      await page.evaluate(blobs);
      const downloading = page.waitForEvent('download');
      await button('Download b.svg').click();
      const saved = await downloading;
      expect(saved.suggestedFilename()).toBe('b.svg');
      expect(readFileSync(await saved.path())).toEqual(svg);
      expect(await page.evaluate('blobs')).toEqual(['application/octet-stream']);
    });

    it('shows long words, a picture that is none, and what is selected in forced colours', async () => {
      const call = await ask('Odd');
      const long = 'x'.repeat(20_000);
      call.emit(log(long), progress(1, { label: long.slice(0, 500) }), toolCall('1', long.slice(0, 200), {}));
      call.emit(file({ name: 'a.png', mimeType: 'Image/PNG', content: Buffer.from('No picture') }));
      await shows('The browser cannot show this picture.');
      expect((await page.locator('.logs').boundingBox())!.height).toBeLessThan(120);
      for (const width of [1100, 320]) {
        await page.setViewportSize({ width, height: 760 });
        const overflow = await page
          .locator('.turns')
          .evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
        expect(overflow).toBe(0);
      }
      const kwargs = await (await kwargsField()).boundingBox();
      expect(kwargs!.width).toBeGreaterThan(150);
      await page.setViewportSize({ width: 1100, height: 760 });
      await page.emulateMedia({ forcedColors: 'active' });
      const backgrounds = await page.evaluate<string[]>(
        `Array.from(document.querySelectorAll('.views button'), (each) => getComputedStyle(each).backgroundColor)`,
      );
      expect(backgrounds[0]).toBe(await page.evaluate(SYSTEM_HIGHLIGHT));
      expect(backgrounds[1]).not.toBe(backgrounds[0]);
      await page.emulateMedia({ forcedColors: null });
      call.finish();
      await announces('Answer complete.');
    });

    it('edits a question, regenerates an answer, and switches between the versions', async () => {
      const answer = async (call: ReturnType<ScriptedAgent['call']>, text: string) => {
        (await call).emit(message(text));
        (await call).finish();
        await shows(text);
        await announces('Answer complete.');
        return (await call).context.history.map((turn) => turn.text);
      };
      await answer(ask('First'), 'Answer 1');
      await answer(ask('Second'), 'Answer 2');
      await button('Regenerate').last().click();
      expect(await answer(agent.call(3), 'Answer 3')).toEqual(['Answer 1']);
      expect(agent.calls[2]!.text).toBe('Second');
      await shows('2 of 2');
      await button('Edit').first().click();
      const question = page.getByRole('textbox', { name: 'Question', exact: true });
      expect(await question.inputValue()).toBe('First');
      await question.fill('Another first');
      await button('Ask').click();
      expect(await answer(agent.call(4), 'Answer 4')).toEqual([]);
      expect(agent.calls[3]!.text).toBe('Another first');
      expect(await page.locator('.session').count()).toBe(1);
      expect(await barriers()).toEqual([]);
      await button('Older version').click();
      await shows('Answer 1');
      const group = page.getByRole('group', { name: 'Versions of question 2' });
      await group.getByRole('button', { name: 'Older version' }).click();
      await shows('Answer 2');
      await page.reload();
      await shows('Answer 2');
      await shows('1 of 2');
      await button('Erase First').or(button('Erase Another first')).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Erase' }).click();
      await page.locator('.session').waitFor({ state: 'detached' });
      const { sessions } = await host.agent.sessions('anonymous');
      expect(sessions).toEqual([]);
    });

    it('stops an answer, shows why one failed, and asks again', async () => {
      const stopped = await ask('Long');
      stopped.emit(message('Begun'));
      await shows('Begun');
      await button('Stop').click();
      await stopped.stopped;
      await announces('The answer was stopped.');
      await button('Retry').click();
      const failed = await agent.call(2);
      expect(failed.text).toBe('Long');
      failed.fail(new QueryError('handler_failed', 'The model is gone.'));
      await shows('The model is gone.');
      await page.locator('.failure code', { hasText: 'handler_failed' }).waitFor();
      expect(await barriers()).toEqual([]);
    });

    it('reconnects after a lost connection, and waits while the service is not available', async () => {
      const call = await ask('Hi');
      call.emit(message('Begun '));
      await shows('Begun');
      refusals = Infinity;
      (host.app.getHttpServer() as Server).closeAllConnections();
      await shows(/The store restarts. Trying again in 1 s/);
      refusals = 0;
      call.emit(message('again'));
      call.finish();
      await shows('Begun again');
      expect(agent.calls).toHaveLength(1);
    });

    it('asks for the API key where the endpoint wants one, and keeps it in the tab', async () => {
      key = 'secret';
      await page.reload();
      const dialog = page.getByRole('dialog', { name: 'Access' });
      await dialog.getByText('This service needs an API key.').waitFor();
      expect(await barriers()).toEqual([]);
      await page.getByLabel(/api key/i).fill('wrong');
      await page.keyboard.press('Enter');
      await dialog.getByText('The service refuses this key.').waitFor();
      await dialog.getByLabel('API key or token').fill('secret');
      await page.keyboard.press('Enter');
      await dialog.waitFor({ state: 'hidden' });
      await focused('Message');
      const call = await ask('Hi');
      call.emit(message('Hello'));
      call.finish();
      await announces('Answer complete.');
      await page.reload();
      await shows('Hello');
      expect(await page.evaluate('JSON.stringify(localStorage)')).toBe('{}');
      await button('Forget the API key').click();
      await button('Forget the API key').waitFor({ state: 'detached' });
    });

    it('does not ask again for the API key when the user has refused to give it', async () => {
      (await ask('Hi')).finish();
      await announces('Answer complete.');
      key = 'secret';
      await page.reload();
      const dialog = page.getByRole('dialog', { name: 'Access' });
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await button('Try again').waitFor();
      expect(await dialog.count()).toBe(0);
      await page
        .locator('input[type=file]')
        .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('A') });
      await button('Send').click();
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await page.locator('.failure code', { hasText: 'unauthorized' }).waitFor();
      expect(await dialog.count()).toBe(0);
      await button('Try again').click();
      await dialog.getByLabel('API key or token').fill('secret');
      await page.keyboard.press('Enter');
      await button(/^Hi/).waitFor();
      await button('On the wire').click();
      await button(/^POST.* 401$/).waitFor();
    });

    it('stops an answer with another API key, when the one before is no longer valid', async () => {
      const call = await ask('Hi');
      call.emit(message('Begun'));
      await shows('Begun');
      key = 'secret';
      await button('Stop').click();
      await page.getByRole('dialog', { name: 'Access' }).getByLabel('API key or token').fill('secret');
      await page.keyboard.press('Enter');
      await call.stopped;
      await announces('The answer was stopped.');
    });

    it('lists conversations, opens and erases them', async () => {
      (await ask('First')).finish();
      await announces('Answer complete.');
      await button('New conversation').click();
      await page.getByText('Ask the agent').waitFor();
      (await ask('Second')).finish();
      await announces('Answer complete.');
      await button(/^First/).click();
      await shows('First');
      await page.goBack();
      await shows('Second');
      await button('Erase First').click();
      const dialog = page.getByRole('dialog', { name: 'Erase this conversation?' });
      expect(await barriers()).toEqual([]);
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await button('Erase First').click();
      await dialog.getByRole('button', { name: 'Erase' }).click();
      await button('Erase First').waitFor({ state: 'detached' });
      await focused('Message');
      const { sessions } = (await (await fetch(`${host.url}/api/v1/query/sessions`)).json()) as {
        sessions: { title: string }[];
      };
      expect(sessions.map(({ title }) => title)).toEqual(['Second']);
    });

    it('stays at the end of an answer, unless the user has left it', async () => {
      const call = await ask('Long');
      const lines = Array.from({ length: 60 }, (_, index) => message(`Line ${index}\n\n`));
      call.emit(...lines, message('The end'));
      await page.locator('.turns').getByText('The end').waitFor();
      const left = () =>
        page
          .locator('.turns')
          .evaluate(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight);
      await eventuallyElsewhere(async () => (await left()) < 2);
      await page.locator('.turns').hover();
      await page.mouse.wheel(0, -300);
      await button('Go to the end').waitFor();
      call.emit(message('\n\nMore'));
      await page.locator('.turns').getByText('More').waitFor();
      expect(await left()).toBeGreaterThan(200);
      await button('Go to the end').click();
      await focused('Message');
      await eventuallyElsewhere(async () => (await left()) < 2);
      call.finish();
      await announces('Answer complete.');
    });

    it('loads more conversations and earlier turns', async () => {
      const query = async (text: string, session: string) => {
        const call = agent.call(agent.calls.length + 1);
        const parts = [{ type: 'text', text }];
        const body = JSON.stringify({ parts, kwargs: { session_id: session } });
        const headers = { 'content-type': 'application/json' };
        const response = fetch(`${host.url}/api/v1/query`, { method: 'POST', headers, body });
        (await call).finish();
        await (await response).text();
      };
      for (let index = 1; index <= 51; index += 1) await query(`Session ${index}`, `${index}`);
      for (let index = 1; index <= 35; index += 1) await query(`Turn ${index}`, 'long');
      await page.reload();
      await button('Load more').click();
      await button(/^Session 1\b/).waitFor();
      await button(/^Turn 1\b/).click();
      await shows('Turn 35');
      expect(await page.locator('.turn').count()).toBe(30);
      await button('Show earlier turns').click();
      await page.locator('.turns').getByText('Turn 1', { exact: true }).waitFor();
      expect(await page.locator('.turn').count()).toBe(35);
      expect(await button('Show earlier turns').count()).toBe(0);
    });

    it('shows what goes over the wire, as curl and as client code', async () => {
      const call = await ask("It's me");
      call.emit(message('Hello'));
      call.finish();
      await announces('Answer complete.');
      await button('On the wire').click();
      const rows = page.getByRole('region', { name: 'Events' }).getByRole('row');
      await rows.getByText('"completed"').waitFor();
      const cells = await rows.last().getByRole('cell').allTextContents();
      expect(cells).toEqual([
        '2',
        expect.stringMatching(/^[\d,]+ ms$/),
        expect.stringMatching(/^[\d,]+ ms$/),
        '{"type":"done","data":{"status":"completed"}}',
      ]);
      expect(await barriers()).toEqual([]);
      await button('Copy as curl').click();
      await button('Copied').waitFor();
      const copied = () => page.evaluate<string>('navigator.clipboard.readText()');
      expect(await copied()).toContain(`curl -N '${host.url}/api/v1/query' \\\n`);
      expect(await copied()).toContain("It'\\''s me");
      await button('Copy as client code').click();
      await eventuallyElsewhere(async () => (await copied()).startsWith('import'));
      expect(await copied()).toMatch(/of client.ask\("It's me", \{ sessionId: "[0-9a-f]{32}" \}\)\) console/);
    });

    it.each(['light', 'dark'] as const)(
      'has no barrier that axe finds, %s, also on a phone',
      async (colorScheme) => {
        await page.emulateMedia({ colorScheme });
        expect(await barriers()).toEqual([]);
        const call = await ask('Markdown');
        call.emit(
          reasoning('I think.'),
          toolCall('1', 'add', {}),
          message(MARKDOWN),
          source('https://example.com/'),
        );
        await page.locator('.markdown .hljs-keyword').waitFor();
        expect(await barriers()).toEqual([]);
        await page.setViewportSize({ width: 390, height: 700 });
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
        expect(await barriers()).toEqual([]);
        await button('Show conversations').click();
        await focused('New conversation');
        expect(await barriers()).toEqual([]);
        await page.keyboard.press('Escape');
        await focused('Show conversations');
        call.finish();
        await announces('Answer complete.');
      },
    );
  });

  it('lets the user choose among several agents', async () => {
    [faults, origins] = [[], new Set()];
    const [one, two] = [new ScriptedAgent(), new ScriptedAgent()];
    const named = (name: string, { handler }: ScriptedAgent) =>
      QueryModule.forRoot({ handler, name, path: `${name}/query` });
    const endpoint = ['one/query', 'two/query'];
    @Module({
      imports: [named('one', one), named('two', two), PlaygroundModule.forRoot({ path: '', endpoint })],
    })
    class Application {}
    const host = await startHost('fastify', Application);
    await page.setViewportSize({ width: 1100, height: 760 });
    await page.goto(host.url);
    await page.getByRole('combobox', { name: 'Agent' }).selectOption('two');
    await page.getByRole('button', { name: 'What can you do?' }).click();
    const call = await two.call(1);
    call.emit(message('I am two.'));
    call.finish();
    await page.getByRole('status').getByText('Answer complete.').waitFor();
    await page.reload();
    await page.getByText('I am two.').waitFor();
    expect(await page.getByRole('combobox', { name: 'Agent' }).inputValue()).toBe('two');
    expect([one.calls.length, faults]).toEqual([0, []]);
    await page.goto('about:blank');
    await host.close();
  });
});
