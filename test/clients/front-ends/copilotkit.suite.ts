import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { DynamicModule } from '@nestjs/common';
import { AgUiModule } from 'nest-agent-query-protocols/ag-ui';
import {
  file,
  log,
  message,
  progress,
  QueryError,
  QueryModule,
  toolCall,
  toolResult,
} from '../../../src/index.js';
import { describeWithBrowser, type Page, sharePage } from '../../browser/shared-page.js';
import { asks, REFUND } from '../../support/asking.js';
import { type Host, ONE_ADAPTER, startHost } from '../../support/host.js';
import { ScriptedAgent } from '../../support/scripted-agent.js';
import { toldTo } from './chat-host.js';
import { servePages } from './pages-host.js';

const RUNTIME = join(import.meta.dirname, 'copilotkit/runtime.mjs');

/** CopilotKit's own server between the page and the service. */
async function startRuntime(agentUrl: string): Promise<{ process: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [RUNTIME], {
    env: { AGENT_URL: agentUrl, COPILOTKIT_TELEMETRY_DISABLED: 'true' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { process: child, url };
}

describeWithBrowser.each(['directly', 'through its runtime'])('CopilotKit, in Chromium, %s,', (way) => {
  let page: Page;
  const faults = sharePage((opened) => (page = opened));
  let agent: ScriptedAgent;
  let host: Host;
  let runtime: Awaited<ReturnType<typeof startRuntime>> | undefined;
  let threads = 0;

  beforeEach(async () => {
    page.setDefaultTimeout(20_000);
    agent = new ScriptedAgent();
    const runs = { drainMs: 0, stopDeadlineMs: 100 };
    const imports = [QueryModule.forRoot({ handler: agent.handler, runs }), AgUiModule.forRoot()];
    const module = { module: class {}, imports } as DynamicModule;
    host = await startHost(ONE_ADAPTER, module, servePages('copilotkit/dist'));
    if (way !== 'directly') runtime = await startRuntime(`${host.url}/ag-ui`);
    const query = runtime ? `?runtime=${encodeURIComponent(runtime.url)}` : '';
    const address = `${host.url}/pages/page.html${query}#thread-${++threads}`;
    await connected(() => page.goto(address));
  });
  afterEach(async () => {
    await page.goto('about:blank');
    if (runtime) {
      runtime.process.kill();
      await once(runtime.process, 'exit');
      runtime = undefined;
    }
    await host.close();
    expect(faults).toEqual([]);
  });

  const ask = async (text: string) => {
    await page.fill('textarea', text);
    await page.press('textarea', 'Enter');
  };
  const shows = (text: string) => page.locator('main', { hasText: text }).waitFor();
  /** Loads the page, and waits until it has its agent: what is asked before would be lost. */
  const connected = async (load: () => Promise<unknown>) => {
    const connection = page.waitForResponse((response) => response.url().endsWith('/connect'));
    await load();
    await connection;
    await page.waitForSelector('textarea');
  };
  const reload = () => connected(() => page.reload());
  /** What the page shows of a conversation. */
  const shown = async () => {
    const lines = (await page.locator('main').innerText()).split(/\n+/).map((line) => line.trim());
    return lines.filter((line) => line !== '' && !line.startsWith('AI can make mistakes.'));
  };

  it('shows an answer while it arrives, and goes on with it after a reload', async () => {
    await ask('Hello');
    const first = await agent.call(1);
    first.emit(log('L'), progress(1, { total: 2, label: 'Reading' }), message('one '));
    await shows('one');
    first.emit(toolCall('c', 'look', { a: 1 }));
    await shows('[look');
    first.emit(toolResult('c', 'seen'), message('two'));
    first.emit(file({ name: 'b.txt', mimeType: 'text/plain', content: Buffer.from('B') }));
    first.finish();
    await shows('two');
    await host.idle();
    expect(await shown()).toEqual(['Hello', 'one', '[look complete seen]', 'two']);
    await ask('Again');
    const second = await agent.call(2);
    expect(toldTo(second)).toEqual(['Hello=one two']);
    second.emit(message('three'));
    await shows('three');
    await reload();
    await shows('three');
    second.emit(message(' four'));
    await shows('three four');
    second.finish();
    await host.idle();
    expect(await shown()).toEqual(['Hello', 'one', '[look complete seen]', 'two', 'Again', 'three four']);
    expect(agent.calls).toHaveLength(2);
  });

  it('says why the agent has failed, and takes the end of a run that was cancelled', async () => {
    await ask('Hello');
    const first = await agent.call(1);
    first.emit(message('one'));
    await shows('one');
    first.fail(new QueryError('internal', 'There is no paper left.'));
    await page.locator('#error', { hasText: 'There is no paper left.' }).waitFor();
    await ask('Again');
    const second = await agent.call(2);
    second.emit(message('two'));
    await shows('two');
    await host.agent.cancel('anonymous', second.context.runId);
    await host.idle();
    // The button sends again, where it stopped before.
    await ask('More');
    const third = await agent.call(3);
    third.emit(message('three'));
    third.finish();
    await shows('three');
    expect(await page.textContent('#error')).toBe('There is no paper left.\n');
  });

  it('leaves the run when it is stopped: the policy of the service decides', async () => {
    await ask('Hello');
    const first = await agent.call(1);
    first.emit(message('one'));
    await shows('one');
    await page.click('[data-testid=copilot-send-button]');
    await page.waitForSelector('[data-testid=copilot-send-button][disabled]');
    first.finish();
    await host.idle();
    expect(await shown()).toEqual(['Hello', 'one']);
  });

  it.each([
    ['Approve', { outcome: 'answered', value: { approved: true } }],
    ['Decline', { outcome: 'answered', value: { approved: false, reason: 'No' } }],
    ['Cancel', { outcome: 'declined' }],
  ])('answers an interrupt: %s', async (button, answer) => {
    await ask('Refund');
    const first = await agent.call(1);
    first.emit(message('Wait. '));
    await shows('Wait.');
    const answering = asks(first, [REFUND]);
    await page.waitForSelector('.interrupt');
    await reload();
    await page.click(`.interrupt >> text=${button}`);
    expect(await answering).toMatchObject([answer]);
    first.emit(message('Well.'));
    first.finish();
    await shows('Well.');
    await host.idle();
    expect(await shown()).toEqual(['Refund', 'Wait.', 'Well.']);
    expect(agent.calls).toHaveLength(1);
  });

  it('executes a tool of the page', async () => {
    await ask('Where');
    const first = await agent.call(1);
    expect(first.query.kwargs['tools']).toMatchObject([{ name: 'place', description: 'Where the user is' }]);
    const answering = asks(first, [
      { key: 'p', kind: 'tool', message: 'Where?', toolCallId: 'call_p', name: 'place', arguments: {} },
    ]);
    expect(await answering).toMatchObject([{ outcome: 'answered', value: { content: 'Rome' } }]);
    first.emit(message('In Rome.'));
    first.finish();
    await shows('In Rome.');
    expect(agent.calls).toHaveLength(1);
  });

  it('sends files, and shows them after a reload', async () => {
    const choosing = page.waitForEvent('filechooser');
    await page.click('[data-testid=copilot-add-menu-button]');
    await page.locator('[role=menuitem]').first().click();
    const buffer = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    );
    await (await choosing).setFiles({ name: 'a.png', mimeType: 'image/png', buffer });
    await page.fill('textarea', 'Look');
    await page.waitForSelector('[data-testid=copilot-send-button]:not([disabled])');
    await page.press('textarea', 'Enter');
    const first = await agent.call(1);
    expect(first.query.parts).toMatchObject([{ text: 'Look' }, { type: 'file', mimeType: 'image/png' }]);
    first.emit(message('Seen.'));
    first.finish();
    await shows('Seen.');
    await reload();
    await shows('Seen.');
    await page.waitForSelector('img');
    expect(await page.textContent('#error')).toBe('');
  });
});
