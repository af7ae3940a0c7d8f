import { gzipSync } from 'node:zlib';
import { ForbiddenException, type INestApplication } from '@nestjs/common';
import { json } from 'express';
import { promise } from '../../promises.js';
import {
  answer,
  askingRun,
  answered,
  finish,
  jsonAt,
  postInputs,
  REFUND,
  YES,
} from '../../support/asking.js';
import type { Body } from '../../support/client.js';
import { type AdapterName, describeOnOneAdapter, type Host, startAgent } from '../../support/host.js';
import { ScriptedAgent } from '../../support/scripted-agent.js';

const KIB = 1024;
const wrong = (...errors: [pointer: string, detail: string][]) => ({
  status: 400,
  code: 'invalid_answer',
  errors: errors.map(([pointer, detail]) => ({ pointer, detail })),
});
const list = (answers: unknown) => JSON.stringify({ answers });
const NO_LIST = wrong(['/answers', 'must be an array of answers']);

const FAULTS: [name: string, body: string, problem: object][] = [
  ['nothing', '', { status: 400, code: 'invalid_json' }],
  ['no JSON', '{"answers":[', { status: 400, code: 'invalid_json' }],
  ['null', 'null', NO_LIST],
  ['an array', '[]', NO_LIST],
  ['an object without answers', '{}', NO_LIST],
  ['answers that are an object', list({ '0': YES }), NO_LIST],
  ['no answer', list([]), wrong(['/answers', 'must contain at least one answer'])],
  [
    'more than 64 answers',
    list(Array.from({ length: 65 }, (_, i) => answered(`${i}`, ''))),
    wrong(['/answers', 'must contain at most 64 answers']),
  ],
  [
    'answers that are no objects',
    list([null, 'yes', [YES], YES]),
    wrong(
      ['/answers/0', 'must be an object'],
      ['/answers/1', 'must be an object'],
      ['/answers/2', 'must be an object'],
    ),
  ],
  [
    'members of other types',
    list([{ id: 1, outcome: 'yes', value: {} }, { id: 'refund-881' }]),
    wrong(
      ['/answers/0/id', 'must be a string'],
      ['/answers/0/outcome', 'must be "answered" or "declined"'],
      ['/answers/1/outcome', 'must be "answered" or "declined"'],
    ),
  ],
  [
    'an outcome that only the service has',
    list([{ id: 'refund-881', outcome: 'superseded' }]),
    wrong(['/answers/0/outcome', 'must be "answered" or "declined"']),
  ],
  ['one request twice', list([YES, YES]), wrong(['/answers/1/id', 'is answered twice'])],
];

async function* slowly(text: string): AsyncGenerator<string> {
  for (const character of text) {
    yield character;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Begins a body, and sends nothing more. */
async function* half(): AsyncGenerator<string> {
  yield '{"answers":[';
  await new Promise(() => undefined);
}

/** What Express and Fastify do where the host itself parses JSON. */
const parsing = (adapter: AdapterName) => (app: INestApplication) =>
  adapter === 'express' ? app.use(json()) : undefined;

describeOnOneAdapter('The body of answers, on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  const start = async (
    options: Parameters<typeof startAgent>[2] = {},
    configure?: Parameters<typeof startAgent>[3],
  ) => {
    agent = new ScriptedAgent();
    host = await startAgent(adapter, agent.handler, options, configure);
    return askingRun(host, agent);
  };
  afterEach(() => host.close());
  const expectOpen = async (runId: string) =>
    expect(await jsonAt(host.url, `/query/${runId}`)).toMatchObject({ status: 'input_required', events: 1 });

  it(promise('answer.body'), async () => {
    const run = await start();
    for (const [name, body, problem] of FAULTS) {
      const refused = await postInputs(host.url, run.runId, body);
      expect({ name, ...(await refused.json()) }).toMatchObject({ name, ...problem });
      expect(refused.headers['content-type']).toBe('application/problem+json');
    }
    await expectOpen(run.runId);
    await answer(host.url, run.runId, [YES]);
    await finish(run);
  });

  it.each<[name: string, body: () => Body, headers: object, status: number, code: string]>([
    ['another type', () => list([YES]), { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
    ['an unknown encoding', () => list([YES]), { 'content-encoding': 'x' }, 415, 'unsupported_encoding'],
    ['too large', () => list([answered('refund-881', 'x'.repeat(8 * KIB))]), {}, 413, 'limit_exceeded'],
    [
      'too deep',
      () => list([answered('refund-881', JSON.parse(`${'['.repeat(70)}${']'.repeat(70)}`))]),
      {},
      413,
      'limit_exceeded',
    ],
    [
      'ill-formed UTF-8',
      () => Buffer.from([...Buffer.from('{"answers":"'), 0xff, 0x22, 0x7d]),
      {},
      400,
      'invalid_json',
    ],
    [
      'the content of a file',
      () => '{"parts":[{"type":"file","name":"a","mimeType":"a/b","base64":"QUJD"}],"answers":[]}',
      {},
      413,
      'limit_exceeded',
    ],
    ['not sent to its end', () => half(), {}, 408, 'body_timeout'],
  ])(promise('answer.body', '%s'), async (_, body, headers, status, code) => {
    const run = await start({ limits: { documentBytes: 4 * KIB, idleMs: 200 } });
    const refused = await postInputs(host.url, run.runId, body(), headers);
    expect(refused.status).toBe(status);
    refused.read();
    await refused.until('"code"');
    expect(refused.text).toContain(`"code":"${code}"`);
    await expectOpen(run.runId);
    await answer(host.url, run.runId, [YES]);
    await finish(run);
  });

  it(
    promise('answer.body', 'but one that comes slowly, in a compressed form or with other members is taken'),
    async () => {
      for (const [body, headers] of [
        [slowly(list([YES])), {}],
        [gzipSync(list([YES])), { 'content-encoding': 'gzip' }],
        [JSON.stringify({ more: 1, answers: [{ ...YES, by: 'somebody', at: 'never' }] }), {}],
        [list([YES]), { 'content-type': 'Application/JSON; charset=UTF-8' }],
      ] as [Body, object][]) {
        const run = await start();
        expect((await postInputs(host.url, run.runId, body, headers)).status).toBe(200);
        expect(await run.answers).toEqual([{ ...YES, by: 'anonymous', at: expect.any(String) }]);
        await finish(run);
        await host.close();
      }
      await start();
    },
  );

  it(promise('answer.body', 'also one that the host has parsed'), async () => {
    const run = await start({}, parsing(adapter));
    expect(await (await postInputs(host.url, run.runId, '{"answers":1}')).json()).toMatchObject(NO_LIST);
    expect((await answer(host.url, run.runId, [YES])).status).toBe(200);
    await finish(run);
  });

  it(promise('answer.body', 'and is not read of a caller whom the host refuses'), async () => {
    const owner = ({ headers }: { headers: Record<string, unknown> }) => {
      if (headers['x-caller'] === 'nobody') throw new ForbiddenException('No.');
      return undefined;
    };
    const run = await start({ owner });
    const refused = await postInputs(host.url, run.runId, half(), { 'x-caller': 'nobody' });
    expect(refused.status).toBe(403);
    await refused.until('"detail":"No."');
    await expectOpen(run.runId);
    await answer(host.url, run.runId, [YES]);
    await finish(run);
  });

  it(promise('answer.kinds', 'up to 64 at once'), async () => {
    await start();
    const questions = Array.from({ length: 64 }, (_, i) => ({ ...REFUND, key: `${i}` }));
    const run = await askingRun(host, agent, questions, { text: 'Many' });
    const answers = questions.map(({ key }) => answered(key, { approved: key === '63' }));
    expect((await answer(host.url, run.runId, answers)).status).toBe(200);
    expect((await run.answers).map(({ id }) => id)).toEqual(questions.map(({ key }) => key));
    await finish(run);
  });
});
