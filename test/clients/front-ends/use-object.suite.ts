import { message, QueryError } from '../../../src/index.js';
import { describeWithBrowser, type Page, sharePage } from '../../browser/shared-page.js';
import { ONE_ADAPTER, startAgent, type Host } from '../../support/host.js';
import { ScriptedAgent } from '../../support/scripted-agent.js';
import { servePages } from './pages-host.js';

describeWithBrowser('useObject of the AI SDK, with the function of docs/protocols.md, in Chromium,', () => {
  let page: Page;
  const faults = sharePage((opened) => (page = opened));
  let agent: ScriptedAgent;
  let host: Host;

  beforeEach(async () => {
    page.setDefaultTimeout(10_000);
    agent = new ScriptedAgent();
    host = await startAgent(ONE_ADAPTER, agent.handler, {}, servePages('dist'));
    await page.goto(`${host.url}/pages/use-object.html`);
    await page.click('text=Ask');
  });
  afterEach(async () => {
    await page.goto('about:blank');
    await host.close();
    expect(faults).toEqual([]);
  });

  const has = (object: string) => page.locator('pre', { hasText: object }).waitFor();
  const is = (status: string) => page.locator('#status', { hasText: status }).waitFor();

  it('has the object as it grows', async () => {
    const call = await agent.callFor('A recipe');
    call.emit(message('{"name":"So'));
    await has('{"name":"So"}');
    call.emit(message('up","steps":["Bo'));
    await has('{"name":"Soup","steps":["Bo"]}');
    call.emit(message('il"]}'));
    call.finish();
    await is('ready');
    await has('{"name":"Soup","steps":["Boil"]}');
  });

  it('says why the agent has failed', async () => {
    const call = await agent.callFor('A recipe');
    call.emit(message('{"name":"So'));
    call.fail(new QueryError('internal', 'There is no paper left.'));
    await page.locator('[role=alert]', { hasText: 'There is no paper left.' }).waitFor();
    expect(agent.calls).toHaveLength(1);
  });

  it('says why the service has refused', async () => {
    (await agent.callFor('A recipe')).finish();
    await is('ready');
    const body = JSON.stringify({ status: 401, code: 'unauthorized', detail: 'Log in first.' });
    await page.route('**/query', (route) =>
      route.fulfill({ status: 401, contentType: 'application/problem+json', body }),
    );
    await page.click('text=Ask');
    await page.locator('[role=alert]', { hasText: 'Log in first.' }).waitFor();
    await page.unroute('**/query');
  });

  it('stops', async () => {
    const call = await agent.callFor('A recipe');
    call.emit(message('{"name":"So'));
    await has('{"name":"So"}');
    await page.click('text=Stop');
    await is('ready');
    await call.stopped;
    expect(await page.textContent('pre')).toBe('{"name":"So"}');
  });
});
