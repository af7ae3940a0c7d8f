import { DEFAULT_BODY_LIMITS, RUN_DEFAULTS, STREAM_DEFAULTS } from '../../src/index.js';
import { promise } from '../promises.js';
import { type Body, request } from '../support/client.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';

const MiB = 1024 * 1024;
const texts = (count: number, text = '') =>
  JSON.stringify({ parts: Array.from({ length: count }, () => ({ type: 'text', text })) });

describe('The defaults that the package exports', () => {
  it(promise('limit.defaults', 'the exported values'), () => {
    expect(DEFAULT_BODY_LIMITS).toMatchObject({
      fileBytes: 256 * MiB,
      filesBytes: 512 * MiB,
      textBytes: 8 * MiB,
      documentBytes: 16 * MiB,
      values: 50_000,
      parts: 1_000,
      depth: 64,
      idleMs: 30_000,
    });
    expect(RUN_DEFAULTS).toMatchObject({ timeoutMs: 15 * 60_000, sessionPolicy: 'enqueue' });
    expect(STREAM_DEFAULTS).toMatchObject({ keepAliveMs: 4_000 });
  });
});

describeOnOneAdapter('A host that sets no limits on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => (host = await startAgent(adapter, async function* () {})));
  afterAll(() => host.close());

  it.each<[string, number, () => Body]>([
    ['textBytes', 8 * MiB, () => texts(1, 'x'.repeat(8 * MiB + 1))],
    ['documentBytes', 16 * MiB, () => `{"kwargs":{"a":"${'x'.repeat(16 * MiB)}"}}`],
    ['values', 50_000, () => `{"kwargs":{"a":[${'{},'.repeat(50_000)}`],
    ['parts', 1_000, () => texts(1_001)],
    ['depth', 64, () => `{"kwargs":{"a":${'['.repeat(63)}`],
  ])(promise('limit.defaults', '%s is refused above %d'), async (limit, value, body) => {
    const reply = await request(host.url, {}, body());
    expect(await reply.json()).toMatchObject({ status: 413, code: 'limit_exceeded', limit, value });
  });

  it.each<[string, () => Body]>([
    ['1,000 parts', () => texts(1_000)],
    [
      'a depth of 64',
      () => `{"parts":[{"type":"text","text":""}],"kwargs":{"a":${'['.repeat(62)}${']'.repeat(62)}}}`,
    ],
  ])(promise('limit.defaults', '%s are accepted'), async (_, body) => {
    const reply = await request(host.url, {}, body());
    expect(await reply.answer()).toEqual({ text: '', done: [{ status: 'completed' }] });
  });
});
