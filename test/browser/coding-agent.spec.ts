import { Module } from '@nestjs/common';
import { type Envelope, type QueryContext, QueryModule, type Query } from '../../src/index.js';
import { PlaygroundModule } from '../../src/playground/index.js';
import { type Host, startHost } from '../support/host.js';
import { barriersOn, describeWithBrowser, type Page, sharePage } from './shared-page.js';

const PLAN = (...states: string[]): Envelope => {
  const steps = ['Read the sources', 'Change the port'];
  return { type: 'plan', data: { entries: steps.map((content, at) => ({ content, status: states[at] })) } };
};

const TEST = {
  id: 't',
  name: 'execute',
  kind: 'execute',
  title: 'Run the tests',
  arguments: { command: 'npm test' },
};
const OUTPUT = { output: 'PASS a.test.js\n<b>2 passed</b>', exitCode: 0 };

const EDIT = { id: 'e', name: 'edit', kind: 'edit', title: 'Edit server.ts', arguments: { files: 1 } };
const DIFFS = [
  {
    path: 'src/server.ts',
    oldText: 'a\nport = 3000\nc',
    newText: `a\nport = env.PORT ${'x'.repeat(300)}\nc`,
  },
  { path: 'README.md', oldText: null, newText: '# Server' },
];
const ASKED = { key: 'e', kind: 'approval', message: 'Edit server.ts', name: 'edit', arguments: { files: 1 }, toolCallId: 'e' } as const; // prettier-ignore

/** What a coding agent sends; with the text "broken", members that are not what they should be. */
async function* handler({ parts: [part] }: Query, context: QueryContext): AsyncGenerator<Envelope> {
  if ((part as { text: string }).text === 'broken') {
    yield { type: 'plan', data: { entries: [{ content: 5 }, null, { content: 'Odd', status: { a: 1 } }] } };
    yield { type: 'plan', data: 'soon' };
    const members = { title: 5, kind: [], diffs: [null, { path: 1 }], locations: 'here' };
    yield { type: 'tool_call', data: { id: '1', name: 'odd', arguments: null, ...members } };
    yield { type: 'tool_result', data: { id: '2', content: null, diffs: 5, locations: [{}] } };
    return;
  }
  yield PLAN('in_progress', 'pending');
  yield { type: 'tool_call', data: TEST };
  yield { type: 'tool_result', data: { id: 't', content: OUTPUT } };
  yield PLAN('completed', 'in_progress');
  const locations = [{ path: 'src/server.ts', line: 2 }, { path: 'README.md' }];
  yield { type: 'tool_call', data: { ...EDIT, diffs: DIFFS, locations } };
  await context.ask([ASKED]);
  yield { type: 'tool_result', data: { id: 'e', content: 'Written' } };
  yield { type: 'message', data: { content: 'Done.' } };
}

describeWithBrowser('What a coding agent does, on the page, in Chromium,', () => {
  let page: Page;
  let host: Host;
  const faults = sharePage((shared) => (page = shared));

  beforeAll(async () => {
    @Module({ imports: [QueryModule.forRoot({ handler }), PlaygroundModule.forRoot()] })
    class Application {}
    host = await startHost('express', Application);
  });
  beforeEach(async () => {
    await page.goto(`${host.url}/playground`);
    await page.evaluate('sessionStorage.clear()');
    await page.reload();
  });
  afterAll(() => host.close());
  afterEach(() => expect(faults).toEqual([]));

  const send = async (text: string) => {
    const box = page.getByRole('textbox', { name: 'Message', exact: true });
    await box.fill(text);
    await box.press('Enter');
  };
  const linesOf = (selector: string) =>
    page.evaluate<string[]>(
      `Array.from(document.querySelectorAll(${JSON.stringify(selector)}), (each) => each.textContent.trimEnd())`,
    );
  const barriers = () => barriersOn(page);
  const isTooWide = () => page.evaluate('document.documentElement.scrollWidth > innerWidth');

  it.each([
    ['light', 1100],
    ['dark', 390],
  ] as const)(
    'is shown with its changes before it is approved: %s, %i pixels',
    async (colorScheme, width) => {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await send('Go');
      const card = page.getByRole('group', { name: 'Edit server.ts' });
      await card.getByRole('button', { name: 'Approve' }).waitFor();
      await card.getByText('new file').waitFor();
      expect(await linesOf('.request .diff pre > span')).toEqual([
        ' a',
        '−port = 3000',
        `+port = env.PORT ${'x'.repeat(300)}`,
        ' c',
        '+# Server',
      ]);
      await page.getByText('Edit server.ts waits for you').waitFor();
      await page.getByText('Plan, 1 of 2 done').waitFor();
      expect(await linesOf('.plan li')).toEqual(['Read the sources (done)', 'Change the port (in progress)']);
      expect(await barriers()).toEqual([]);
      await card.getByRole('button', { name: 'Approve' }).click();
      await page.getByText('Done.', { exact: true }).waitFor();
      expect(await page.locator('.request .diff').count()).toBe(0);
      for (const title of ['Run the tests', 'Edit server.ts'])
        await page.locator('summary').getByText(title, { exact: true }).click();
      expect(await linesOf('.tool .places li')).toEqual(['src/server.ts:2', 'README.md']);
      expect(await linesOf('.tool > pre')).toEqual([
        'npm test',
        'PASS a.test.js\n<b>2 passed</b>',
        '{\n  "exitCode": 0\n}',
        'Written',
      ]);
      expect(await barriers()).toEqual([]);
      expect(await isTooWide()).toBe(false);
    },
  );

  it('is shown as far as its members are what they should be', async () => {
    await send('broken');
    await page.getByRole('status').getByText('Answer complete.').waitFor();
    await page.getByText('Plan, 0 of 1 done').waitFor();
    expect(await linesOf('.tool > summary')).toEqual(['odd  no result', 'tool  done']);
  });
});
