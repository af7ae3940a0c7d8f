import { Module } from '@nestjs/common';
import { AiSdkModule } from 'nest-agent-query-protocols/ai-sdk';
import type { Browser, Page } from 'playwright-core';
import type { InputAnswer } from 'nest-agent-query-client';
import {
  message,
  toolCall,
  type Query,
  type QueryContext,
  QueryModule,
  type Question,
} from '../../src/index.js';
import { PlaygroundModule } from '../../src/playground/index.js';
import { eventuallyElsewhere } from '../support/conditions.js';
import { type Host, startHost } from '../support/host.js';
import { runOf, sendChat, streamOf, textOf, user } from '../support/ai-sdk-chat.js';
import { barriersOn, describeWithBrowser } from './shared-page.js';
import { startBrowser } from './start-browser.mjs';

const REFUND: Question = {
  key: 'refund',
  kind: 'approval',
  message: 'Refund 120 EUR?',
  name: 'refund',
  arguments: { customer: 881, amount: 120 },
  editable: true,
};

const ORDER: Question = {
  key: 'order',
  kind: 'input',
  message: 'Which order?',
  schema: {
    type: 'object',
    required: ['city', 'count', 'size'],
    properties: {
      city: { type: 'string', title: 'City', description: 'Where it goes.', pattern: '^[A-Z]' },
      count: { type: 'integer', title: 'Count', minimum: 1, maximum: 10 },
      size: { enum: ['small', 'large'], title: 'Size' },
      isGift: { type: 'boolean', title: 'It is a gift' },
      address: {
        type: 'object',
        title: 'Address',
        properties: { street: { type: 'string', title: 'Street' } },
      },
      tags: { type: 'array', title: 'Tags', items: { type: 'string' } },
    },
  },
};

/** What the agent asks, by the text of the query. Before a call, it says what it calls. */
const QUESTIONS: Record<string, Question[]> = {
  Refund: [REFUND],
  Call: [REFUND],
  Order: [ORDER],
  Name: [{ key: 'name', kind: 'input', message: 'Who are you?' }],
  Secret: [{ key: 'pin', kind: 'input', message: 'Which PIN?', private: true }],
  Locate: [{ key: 'gps', kind: 'tool', message: 'Where am I?', name: 'locate', arguments: {} }],
  'Sign in': [{ key: 'login', kind: 'auth', message: 'Sign in, please.', url: 'https://example.com/login' }],
  Two: [
    { key: 'one', kind: 'input', message: 'First?' },
    { key: 'two', kind: 'input', message: 'Second?', onExpire: 'fail' },
  ],
  Soon: [{ key: 'soon', kind: 'input', message: 'Quick?', expiresInMs: 1500, onExpire: { value: 'late' } }],
};

/** Asks, and answers with what it got. */
async function* handler({ parts: [part] }: Query, context: QueryContext) {
  const { text } = part as { text: string };
  yield message('Let me see. ');
  if (text === 'Call') {
    yield toolCall('1', 'refund', { customer: 881, amount: 120 });
    yield toolCall('2', 'notify', {});
  }
  const answers = await context.ask(QUESTIONS[text]!);
  yield message(
    '```json\n' + JSON.stringify(answers.map(({ outcome, value }) => ({ outcome, value }))) + '\n```',
  );
}

describeWithBrowser('A run that asks, on the page, in Chromium,', () => {
  let browser: Browser;
  // These two for all tests: this browser is a single process, and ends when a page is closed.
  let page: Page;
  let other: Page;
  let faults: string[];
  let host: Host;

  beforeAll(async () => {
    browser = await startBrowser();
    const context = await browser.newContext({ reducedMotion: 'reduce' });
    context.setDefaultTimeout(10_000);
    other = await context.newPage();
    page = await context.newPage();
    for (const each of [page, other]) {
      each.on('pageerror', ({ message: fault }) => faults.push(fault));
      each.on('console', (entry) => {
        if (/Content Security Policy/.test(entry.text())) faults.push(entry.text());
      });
    }
  });
  afterAll(() => browser.close());

  const start = async (holdMs: number) => {
    faults = [];
    const owner = ({ headers }: { headers: Record<string, unknown> }) =>
      (headers['x-user'] as string) ?? 'ann';
    const query = QueryModule.forRoot({
      handler,
      owner,
      canAnswer: () => true,
      runs: { drainMs: 0, stopDeadlineMs: 100 },
      streams: { holdMs },
    });
    @Module({ imports: [query, AiSdkModule.forRoot(), PlaygroundModule.forRoot()] })
    class Application {}
    host = await startHost('express', Application);
    await page.setViewportSize({ width: 1100, height: 760 });
    await page.goto(`${host.url}/playground`);
    await box().waitFor();
  };
  beforeEach(() => start(30_000));
  afterEach(async () => {
    await page.evaluate('sessionStorage.clear()');
    await page.goto('about:blank');
    await other.goto('about:blank');
    await host.close();
    expect(faults).toEqual([]);
  });

  const box = () => page.getByRole('textbox', { name: 'Message', exact: true });
  const card = (text: string | RegExp, on = page) => on.getByRole('group', { name: text });
  const button = (name: string | RegExp, on = page) => on.getByRole('button', { name, exact: true });
  const announces = (text: string | RegExp) => page.getByRole('status').getByText(text).waitFor();
  const ask = async (text: string) => {
    await box().fill(text);
    await box().press('Enter');
    await card(QUESTIONS[text]![0]!.message).waitFor();
  };
  /** What the handler was answered. */
  const answers = async (on = page): Promise<unknown> => {
    const code = on.locator('.markdown code').last();
    await code.waitFor();
    return JSON.parse((await code.textContent())!);
  };
  const barriers = () => barriersOn(page);
  const focused = (selector: string) =>
    eventuallyElsewhere(() => page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`));
  const runs = async () =>
    ((await (await fetch(`${host.url}/query`)).json()) as { runs: { id: string; status: string }[] }).runs;
  /** Answers as somebody else, without a window. */
  const answerAs = async (user: string, answer: InputAnswer) => {
    const [run] = await runs();
    const { status } = await fetch(`${host.url}/query/${run!.id}/inputs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-user': user },
      body: JSON.stringify({ answers: [answer] }),
    });
    expect(status).toBe(200);
  };

  it('is approved, and goes on', async () => {
    await ask('Refund');
    await announces('The agent asks: Refund 120 EUR?');
    await card('The agent asks for your approval').getByText('"amount": 120').waitFor();
    await card('Refund 120 EUR?').getByText('Expires in 5 minutes. Then the agent goes on').waitFor();
    await focused('.message');
    await page.getByLabel('Reason for the agent').fill('It is late.');
    await button('Approve').click();
    expect(await answers()).toEqual([
      { outcome: 'answered', value: { approved: true, reason: 'It is late.' } },
    ]);
    await card('Refund').getByText('Approved by ann, just now. Reason: It is late.').waitFor();
    await announces('Answer complete.');
    await focused('.message');
    await page.reload();
    await card('Refund').getByText('Approved by ann').waitFor();
    expect(await button('Approve').count()).toBe(0);
  });

  it('says which call waits for the user, and what was asked when it is over', async () => {
    await ask('Call');
    await page.getByText('refund waits for you').waitFor();
    await page.getByText('notify running…').waitFor();
    const colours = await page.evaluate<string[]>(
      `Array.from(document.querySelectorAll('.request button'), (each) => getComputedStyle(each).color)`,
    );
    // Those of editing, approving, declining and not answering.
    expect(new Set(colours).size).toBe(4);
    await button('Approve').click();
    await announces('Answer complete.');
    await card('The agent asked for your approval').getByText('Approved by ann').waitFor();
    expect(await page.getByText('The agent asks for your approval').count()).toBe(0);
    await page.getByText('refund no result').waitFor();
  });

  it('is answered here for a client of the AI SDK, which gets the rest', async () => {
    const asked = await sendChat(host.url, [user('Refund')]);
    await asked.whole();
    await page.goto(`${host.url}/playground#session=c1`);
    await page.reload();
    await button('Approve').click();
    expect(await answers()).toEqual([{ outcome: 'answered', value: { approved: true } }]);
    await announces('Answer complete.');
    const whole = await (await streamOf(host.url, runOf(asked), 0)).whole();
    expect(textOf(whole)).toContain('"approved":true');
  });

  it('is refused with other arguments that are no object, and approved with others', async () => {
    await ask('Refund');
    await button('Edit the arguments').click();
    const editor = page.getByRole('textbox', { name: 'Arguments' });
    await focused('.json');
    for (const [text, fault] of [
      ['{"amount": ', /This must be JSON/],
      ['[120]', 'This must be a JSON object, such as {"a": 1}.'],
    ] as const) {
      await editor.fill(text);
      await button('Approve').click();
      await card('Refund').getByText(fault).waitFor();
      await focused('[aria-invalid="true"]');
    }
    expect(await barriers()).toEqual([]);
    expect((await runs())[0]!.status).toBe('input_required');
    await editor.fill('{"amount": 100}');
    await button('Approve').click();
    expect(await answers()).toEqual([
      { outcome: 'answered', value: { approved: true, arguments: { amount: 100 } } },
    ]);
    await card('Refund').getByText('Approved with other arguments by ann').waitFor();
  });

  it.each([
    ['Decline', { outcome: 'answered', value: { approved: false } }, 'Declined by ann'],
    ['I do not want to answer', { outcome: 'declined' }, 'Not answered by ann'],
  ])('takes "%s"', async (name, answer, text) => {
    await ask('Refund');
    await button(name).click();
    expect(await answers()).toEqual([answer]);
    await card('Refund').getByText(text).waitFor();
  });

  it('is answered after a reload, with the keyboard only', async () => {
    await ask('Name');
    await page.reload();
    await card('Who are you?').waitFor();
    await page.locator('.question').getByText('Name').waitFor();
    await focused('.message');
    // Over the button that copies the text.
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Shift+Tab');
    await focused('.request-foot button');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await card('Who are you?').getByText('This is needed.').waitFor();
    await focused('[aria-invalid="true"]');
    await page.keyboard.type('Ann');
    await page.keyboard.press('Enter');
    expect(await answers()).toEqual([{ outcome: 'answered', value: 'Ann' }]);
    await focused('.message');
  });

  it('is shown and answered in a second window, and goes on in both', async () => {
    await ask('Refund');
    await other.goto(page.url());
    await card('Refund', other).waitFor();
    await button('Approve', other).click();
    for (const each of [page, other]) {
      expect(await answers(each)).toEqual([{ outcome: 'answered', value: { approved: true } }]);
      await card('Refund', each).getByText('Approved by ann').waitFor();
    }
  });

  describe('while its responses end', () => {
    beforeEach(async () => {
      await page.goto('about:blank');
      await host.close();
      await start(50);
    });
    /** The response without the end of the run is there, and the client waits before it asks again. */
    const isHeld = async (on = page) => {
      await button('On the wire', on).click();
      await on.getByRole('region', { name: 'Events' }).getByText('retry: 15000').waitFor();
      await button('Conversation', on).click();
    };

    it('keeps its card, and goes on at once where it is answered', async () => {
      await ask('Refund');
      await isHeld();
      await card('Refund').waitFor();
      expect(await page.locator('.notice').count()).toBe(0);
      await button('Approve').click();
      expect(await answers()).toEqual([{ outcome: 'answered', value: { approved: true } }]);
    });

    it('goes on at once when it is answered in a second window', async () => {
      await ask('Refund');
      await isHeld();
      await other.goto(page.url());
      await button('Approve', other).click();
      expect(await answers()).toEqual([{ outcome: 'answered', value: { approved: true } }]);
      expect(await answers(other)).toEqual([{ outcome: 'answered', value: { approved: true } }]);
    });

    it('goes on when somebody else has answered', async () => {
      // The client waits for 15 seconds before it asks again.
      await page.evaluate(`{
        const { setTimeout: wait } = globalThis;
        globalThis.setTimeout = (task, ms) => wait(task, ms / 10);
      }`);
      await ask('Refund');
      await isHeld();
      await answerAs('bob', { id: 'refund', outcome: 'answered', value: { approved: false } });
      await page.getByText('Declined by bob').waitFor();
      expect(await answers()).toEqual([{ outcome: 'answered', value: { approved: false } }]);
    });
  });

  it('shows a form from the schema, checks it, and shows what the service finds at its field', async () => {
    await ask('Order');
    expect(await barriers()).toEqual([]);
    await button('Send the answer').click();
    await focused('input[aria-invalid="true"]');
    expect(await card('Which order?').locator('.fault', { hasText: 'This is needed.' }).count()).toBe(3);
    await page.getByLabel('City').fill('oslo');
    await page.getByLabel('Count').fill('11');
    await page.getByLabel('Size').selectOption('large');
    await page.getByLabel('It is a gift').check();
    await page.getByLabel('Tags').fill('[1]');
    await button('Send the answer').click();
    await card('Which order?').getByText('This must be at most 10.').waitFor();
    await page.getByLabel('Count').fill('3');
    await button('Send the answer').click();
    const said = (label: string) =>
      card('Which order?').locator('.field', { hasText: label }).locator('.fault');
    await said('City').getByText('This must match pattern "^[A-Z]".').waitFor();
    await said('Tags').getByText('/0 must be string.').waitFor();
    expect(await barriers()).toEqual([]);
    await focused('input[aria-invalid="true"]');
    // What is written stays while the user looks at another conversation.
    await page.getByLabel('City').fill('Oslo');
    await button('New conversation').click();
    await page.getByText('Ask the agent').waitFor();
    await page.getByRole('region', { name: 'Waiting for an answer' }).getByRole('button').click();
    await focused('.request.open');
    await page.getByLabel('Tags').fill('');
    await button('Send the answer').click();
    expect(await answers()).toEqual([
      { outcome: 'answered', value: { city: 'Oslo', count: 3, size: 'large', isGift: true } },
    ]);
    await card('Which order?').getByText('"size": "large"').waitFor();
    expect(await barriers()).toEqual([]);
  });

  it('takes the result of a call, or its error', async () => {
    await ask('Locate');
    await page.getByLabel('Result of the call').fill('Oslo');
    await button('Send the result').click();
    await card('Where am I?')
      .getByText(/This must be JSON/)
      .waitFor();
    await page.getByLabel('Result of the call').fill('{"city": "Oslo"}');
    await page.getByLabel('The call has failed').check();
    expect(await barriers()).toEqual([]);
    await button('Send the result').click();
    expect(await answers()).toEqual([
      { outcome: 'answered', value: { content: { city: 'Oslo' }, isError: true } },
    ]);
    await card('Where am I?').getByText('Error by ann').waitFor();
  });

  it('leads to where the user signs in', async () => {
    await ask('Sign in');
    const link = card('Sign in, please.').getByRole('link', { name: 'Sign in at example.com' });
    expect([
      await link.getAttribute('href'),
      await link.getAttribute('target'),
      await link.getAttribute('rel'),
    ]).toEqual(['https://example.com/login', '_blank', 'noopener noreferrer']);
    expect(await barriers()).toEqual([]);
    await button('I have signed in').click();
    expect(await answers()).toEqual([{ outcome: 'answered', value: {} }]);
    await card('Sign in, please.').getByText('Signed in by ann').waitFor();
  });

  it('shows nothing of a private answer', async () => {
    await ask('Secret');
    const field = page.getByLabel('Your answer');
    expect(await field.getAttribute('type')).toBe('password');
    await field.fill('1234');
    await field.press('Enter');
    await card('Which PIN?').getByText('The answer is private.').waitFor();
    expect(await answers()).toEqual([{ outcome: 'answered', value: '1234' }]);
    expect(await card('Which PIN?').textContent()).not.toContain('1234');
  });

  it('is answered in parts, and the focus goes to what is open', async () => {
    await ask('Two');
    await card('Second?').getByText('Then the run fails.').waitFor();
    await card('First?').getByLabel('Your answer').fill('1');
    await card('First?').getByLabel('Your answer').press('Enter');
    await card('First?').getByText('Answered by ann').waitFor();
    await focused('.request.open');
    await card('Second?').getByLabel('Your answer').fill('2');
    await card('Second?').getByLabel('Your answer').press('Enter');
    expect(await answers()).toEqual([
      { outcome: 'answered', value: '1' },
      { outcome: 'answered', value: '2' },
    ]);
  });

  it('shows whose answer counts when somebody else was faster', async () => {
    await ask('Refund');
    let release: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/inputs', async (route) => {
      if (route.request().method() === 'POST') await released;
      await route.continue();
    });
    await button('Approve').click();
    await answerAs('bob', { id: 'refund', outcome: 'answered', value: { approved: false, reason: 'No.' } });
    await card('Refund').getByText('Declined by bob, just now. Reason: No.').waitFor();
    release!();
    await page.getByRole('alert').getByText('was answered at').waitFor();
    expect(await barriers()).toEqual([]);
    await page.unroute('**/inputs');
  });

  it('shows that a request has expired, and with which answer', async () => {
    await ask('Soon');
    await card('Quick?').getByText('Then the answer is late.').waitFor();
    await card('Quick?').getByText('Expired').waitFor();
    expect(await answers()).toEqual([{ outcome: 'expired', value: 'late' }]);
  });

  it('ends when another message is sent instead, or the run is stopped', async () => {
    await ask('Refund');
    await box().fill('Name');
    await box().press('Enter');
    await card('Refund').getByText('Another message was sent instead.').waitFor();
    await card('Who are you?').waitFor();
    await button('Stop').click();
    await card('Who are you?').getByText('The run has ended.').waitFor();
    await announces('The answer was stopped.');
    await page.getByRole('region', { name: 'Waiting for an answer' }).waitFor({ state: 'detached' });
  });

  it.each(['light', 'dark'] as const)(
    'lists what waits, %s, and opens it, also on a phone',
    async (colorScheme) => {
      await page.emulateMedia({ colorScheme });
      await ask('Refund');
      await button('New conversation').click();
      await ask('Name');
      const inbox = page.getByRole('region', { name: 'Waiting for an answer' });
      await inbox.getByRole('button').nth(1).waitFor();
      expect((await inbox.getByRole('button').allTextContents()).map((text) => text.split('?')[0])).toEqual([
        'Who are you',
        'Refund 120 EUR',
      ]);
      await page.getByRole('navigation').getByText('asks you').nth(1).waitFor();
      expect(await barriers()).toEqual([]);
      await inbox.getByRole('button', { name: /^Refund/ }).click();
      await focused('.request.open');
      await page.setViewportSize({ width: 390, height: 700 });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
      expect(await barriers()).toEqual([]);
      await button('Show conversations, 2 open requests').click();
      expect(await barriers()).toEqual([]);
      await inbox.getByRole('button', { name: /^Who/ }).click();
      await card('Who are you?').waitFor();
      await focused('.request.open');
      await page.getByLabel('Your answer').fill('Ann');
      await button('Send the answer').click();
      await button('Show conversations, 1 open request').waitFor();
    },
  );
});
