import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promise } from '../../../../test/promises.js';
import { ask } from '../../../../test/support/client.js';
import { RemoteServer } from '../../../../test/support/remote-service.js';
import { refusalOf, serve, type SharedService } from '../../../../test/support/service.js';

/** A provider whose endpoint answers with a text. */
const PROVIDER = (specification: string) => `
exports.createFake = ({ apiKey, baseURL = process.env.FAKE_URL, fetch }) => ({
  languageModel: (modelId) => ({
    specificationVersion: '${specification}', provider: 'fake', modelId, supportedUrls: {},
    doStream: async ({ prompt, abortSignal: signal }) => {
      const body = JSON.stringify({ modelId, prompt });
      const response = await fetch(baseURL + '/fake', { method: 'POST', headers: { 'x-key': apiKey }, body, signal });
      const delta = await response.text();
      if (!response.ok) throw Object.assign(new Error(delta), { statusCode: response.status });
      const usage = { inputTokens: { total: 3 }, outputTokens: { total: 2 } };
      return { stream: ReadableStream.from([
        { type: 'stream-start', warnings: [] },
        { type: 'text-start', id: '0' }, { type: 'text-delta', id: '0', delta }, { type: 'text-end', id: '0' },
        { type: 'finish', usage, finishReason: { unified: 'stop', raw: 'end' } },
      ]) };
    },
  }),
});
`;

describe('The service with MODEL_PROVIDER', () => {
  let directory: string;
  let endpoint: RemoteServer;
  let service: SharedService | undefined;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'model-provider-'));
    endpoint = await RemoteServer.start();
    await install('fake', PROVIDER('v3'));
    await install('new', PROVIDER('v5'));
    await install('two', 'exports.createOne = () => 1; exports.createTwo = () => 2;');
    await install('none', 'exports.fake = () => 1; exports.created = () => 2;');
    await install('things', 'exports.createThings = exports.createThing = () => ({});');
  });

  afterEach(async () => {
    await service?.stop();
    service = undefined;
    await endpoint.stop();
    await rm(directory, { recursive: true });
  });

  async function install(name: string, code: string) {
    const folder = join(directory, 'node_modules/@ai-sdk', name);
    await mkdir(folder, { recursive: true });
    const manifest = { name: `@ai-sdk/${name}`, version: '4.1.2', main: 'index.js' };
    await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
    await writeFile(join(folder, 'index.js'), code);
  }

  const settings = (more: Record<string, string> = {}) => ({
    AGENT: 'model',
    MODEL: 'test-model',
    MODEL_API_KEY: 'sk-secret',
    ...more,
  });

  it(promise('model.provider', 'with its key, its address, its errors and its limits'), async () => {
    service = await serve(
      settings({
        MODEL_PROVIDER: 'fake',
        MODEL_BASE_URL: `${endpoint.url}/v9/`,
        MODEL_SILENCE_MS: '200',
        MODEL_RETRIES: '0',
      }),
      directory,
    );
    endpoint.answers((response) => void response.end('Hi'));
    const envelopes = await (await ask(service.url, 'Hello')).allEnvelopes();
    expect(envelopes).toEqual([
      { type: 'message', data: { content: 'Hi' } },
      { type: 'usage', data: { inputTokens: 3, outputTokens: 2, model: 'test-model' } },
      { type: 'done', data: { status: 'completed' } },
    ]);
    const [{ path, headers, body }] = endpoint.calls as [(typeof endpoint.calls)[0]];
    expect([path, headers['x-key']]).toEqual(['/v9/fake', 'sk-secret']);
    const content = [{ type: 'text', text: 'Hello' }];
    expect(JSON.parse(body)).toEqual({ modelId: 'test-model', prompt: [{ role: 'user', content }] });

    endpoint.answers((response) => void response.writeHead(401).end('Not sk-secret'));
    expect(await (await ask(service.url, 'Hello')).whole()).toContain('refuses the credential');
    endpoint.answers((response) => void response.writeHead(307, { Location: `${endpoint.url}/other` }).end());
    expect(await (await ask(service.url, 'Hello')).whole()).toContain('handler_failed');
    expect(endpoint.requests).not.toContain('POST /other');
    endpoint.answers((response) => void response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>'));
    expect(await (await ask(service.url, 'Hello')).whole()).toContain('sent an answer that cannot be read');
    endpoint.answers(() => undefined);
    expect(await (await ask(service.url, 'Hello')).whole()).toContain('was silent for too long');
  });

  it.each([
    ['gone', /needs the package @ai-sdk\/gone, .* Run npm install @ai-sdk\/gone@3\. .* MODEL_API_KEY/],
    ['../fake', /ModelOptions\.provider is "\.\.\/fake"; it must be a name such as "anthropic"/],
    ['new', /@ai-sdk\/new 4\.1\.2 .* specification v5, .* takes v3\. Run npm install @ai-sdk\/new@2\./],
    ['two', /one function create…, and @ai-sdk\/two has createOne and createTwo\./],
    ['none', /one function create…, and @ai-sdk\/none has none\./],
    ['things', /needs a package of language models; @ai-sdk\/things has none\./],
  ])(promise('model.provider', 'does not start with %s'), async (name, sentence) => {
    const { message, exitCode } = await refusalOf(settings({ MODEL_PROVIDER: name }), directory);
    expect([exitCode, message]).toEqual([1, expect.stringMatching(sentence)]);
    expect(message).not.toContain('secret');
  });
});
