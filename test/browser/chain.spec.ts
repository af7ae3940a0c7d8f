import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import type { Browser, Page } from 'playwright-core';
import { follow, get } from '../support/client.js';
import { freePort } from '../support/free-port.mjs';
import { type Service, startService } from '../support/service.js';
import { describeWithBrowser } from './shared-page.js';
import { startBrowser } from './start-browser.mjs';

/** A tool that the caller executes. */
const LOCATE = { name: 'locate', description: 'Where I am', inputSchema: { type: 'object', properties: {} } };

interface Asked {
  messages: { role: string; content: string }[];
}

/** The endpoint of a model that calls the tool, and answers with its result. */
async function startModel() {
  const asked: Asked[] = [];
  const server = http.createServer((request, response) => {
    void json(request).then((body) => {
      asked.push(body as Asked);
      const { role, content } = (body as Asked).messages.at(-1)!;
      const call = {
        index: 0,
        id: 'call-1',
        type: 'function',
        function: { name: 'locate', arguments: '{}' },
      };
      const delta = role === 'tool' ? { content: `You are in ${content}.` } : { tool_calls: [call] };
      const finish_reason = role === 'tool' ? 'stop' : 'tool_calls';
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const choice of [{ delta }, { delta: {}, finish_reason }])
        response.write(`data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, ...choice }] })}\n\n`);
      response.end('data: [DONE]\n\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { asked, url, stop };
}

describeWithBrowser('An agent behind another service, on the page, in Chromium,', () => {
  let browser: Browser;
  let page: Page;
  let directory: string;
  let model: Awaited<ReturnType<typeof startModel>>;
  let [thereUrl, hereUrl] = ['', ''];
  let killThere: () => Promise<void>;
  let killHere: () => Promise<void>;
  const services: Service[] = [];

  beforeAll(async () => {
    browser = await startBrowser();
    const context = await browser.newContext({ reducedMotion: 'reduce' });
    context.setDefaultTimeout(30_000);
    page = await context.newPage();
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'chain-'));
    model = await startModel();
    const [there, here] = [await freePort(), await freePort()];
    [thereUrl, hereUrl] = [there, here].map((port) => `http://127.0.0.1:${port}`) as [string, string];
    killThere = await start('there', there, {
      AGENT: 'model',
      MODEL: 'm',
      MODEL_BASE_URL: model.url,
      MODEL_KWARGS: 'tools',
    });
    killHere = await start('here', here, {
      AGENT: 'remote',
      REMOTE_URL: `${thereUrl}/.well-known/agent-card.json`,
    });
  });
  afterEach(async () => {
    await page.goto('about:blank');
    for (const service of services.splice(0)) await service.stop();
    await model.stop();
    await rm(directory, { recursive: true });
  });

  /** A service on a port and a file of its own. Returns what kills it and starts it again. */
  const start = async (name: string, port: number, environment: Record<string, string>) => {
    const variables = {
      PORT: String(port),
      DATABASE_URL: `file:${join(directory, `${name}.db`)}`,
      ...environment,
    };
    let service = await startService(variables);
    services.push(service);
    return async () => {
      service.process.kill('SIGKILL');
      await service.exited;
      services.splice(services.indexOf(service), 1);
      service = await startService(variables);
      services.push(service);
    };
  };
  const box = (name: string) => page.getByRole('textbox', { name, exact: true });
  const runsOf = async (url: string) =>
    (await get(url, '/query')).json<{ runs: { id: string; status: string }[] }>();

  it('asks there; after both services were killed, it goes on with the answer, and nothing is executed twice', async () => {
    await page.goto(hereUrl);
    await page.getByRole('button', { name: 'kwargs', exact: true }).click();
    await box('kwargs').fill(JSON.stringify({ tools: [LOCATE] }));
    await box('Message').fill('Where am I?');
    await box('Message').press('Enter');
    await page.getByLabel('Result of the call').waitFor();
    await killThere();
    await killHere();
    await page.reload();
    await page.getByLabel('Result of the call').fill('"Oslo"');
    await page.getByRole('button', { name: 'Send the result', exact: true }).click();
    await page.getByText('You are in Oslo.').waitFor();

    expect(model.asked.map(({ messages }) => messages.at(-1)!.role)).toEqual(['user', 'tool']);
    for (const url of [thereUrl, hereUrl]) {
      const { runs } = await runsOf(url);
      expect(runs.map(({ status }) => status)).toEqual(['completed']);
      const envelopes = await (await follow(url, runs[0]!.id)).allEnvelopes();
      expect(envelopes.filter(({ type }) => type === 'message')).toHaveLength(1);
    }
  });
});
