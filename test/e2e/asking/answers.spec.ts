import type { FieldError, InputAnswer, Question } from '../../../src/index.js';
import { TestClock } from '../../../src/testing/index.js';
import { promise } from '../../promises.js';
import {
  answer,
  answered,
  askingRun,
  declined,
  finish,
  jsonAt,
  postInputs,
  quarter,
  REFUND,
  withoutTimes,
  YES,
} from '../../support/asking.js';
import { get } from '../../support/client.js';
import { describeOnOneAdapter, type Host, startAgent, startClockedAgent } from '../../support/host.js';
import { OperatorLog } from '../../support/operator-log.js';
import { ScriptedAgent } from '../../support/scripted-agent.js';

const NOT_EDITABLE: Question = { key: 'q', kind: 'approval', message: 'May I?' };
const TOOL: Question = { key: 'q', kind: 'tool', message: 'Do it', name: 'open', arguments: {} };
const AUTH: Question = { key: 'q', kind: 'auth', message: 'Sign in', url: 'https://example.com/login' };
const FORM = quarter({
  key: 'q',
  schema: {
    type: 'object',
    properties: { 'a/b': { type: 'integer', minimum: 1 }, mail: { type: 'string', format: 'email' } },
    required: ['a/b'],
    additionalProperties: false,
  },
});
const at = (pointer: string, detail: string): FieldError => ({ pointer: `/answers/0${pointer}`, detail });

const VALID: [name: string, question: Question, value: unknown][] = [
  ['an approval', REFUND, { approved: true }],
  ['an approval that is refused, with a reason', REFUND, { approved: false, reason: 'Too much' }],
  ['an approval with other arguments', REFUND, { approved: true, arguments: { amount: 1 } }],
  ['a text', quarter(), ''],
  ['a value of an enum', quarter({ schema: { enum: ['Q1', null] } }), null],
  ['a form', FORM, { 'a/b': 1, mail: 'a@example.com' }],
  ['anything', quarter({ schema: true }), { __proto__: null, a: [1, { b: 'ü' }] }],
  ['a result of a tool', TOOL, { content: null }],
  ['an error of a tool', TOOL, { content: { code: 1 }, isError: true }],
  ['a sign-in', AUTH, {}],
];

const INVALID: [name: string, question: Question, answer: Partial<InputAnswer>, errors: FieldError[]][] = [
  ['an approval without a decision', REFUND, { value: {} }, [at('/value/approved', 'must be true or false')]],
  ['an approval that is a text', REFUND, { value: 'yes' }, [at('/value', 'must be an object')]],
  [
    'several faults of an approval',
    REFUND,
    { value: { approved: 1, arguments: [], reason: 2 } },
    [
      at('/value/approved', 'must be true or false'),
      at('/value/arguments', 'must be an object'),
      at('/value/reason', 'must be a string'),
    ],
  ],
  [
    'arguments that are not editable',
    NOT_EDITABLE,
    { value: { approved: true, arguments: {} } },
    [at('/value/arguments', 'must be absent: the request is not "editable"')],
  ],
  ['no value', REFUND, {}, [at('/value', 'must be present')]],
  ['no value where any is valid', quarter({ schema: {} }), {}, [at('/value', 'must be present')]],
  ['a number for a text', quarter(), { value: 1 }, [at('/value', 'must be a string')]],
  [
    'no value of an enum',
    quarter({ schema: { enum: ['Q1', 'Q2'] } }),
    { value: 'Q3' },
    [at('/value', 'must be one of ["Q1","Q2"]')],
  ],
  [
    'a form with faults',
    FORM,
    { value: { 'a/b': 0.5, mail: 'x', more: 1 } },
    [
      at('/value', 'must NOT have additional properties'),
      at('/value/a~1b', 'must be integer'),
      at('/value/a~1b', 'must be >= 1'),
      at('/value/mail', 'must match format "email"'),
    ],
  ],
  ['a form without a field', FORM, { value: {} }, [at('/value', "must have required property 'a/b'")]],
  ['a tool without a content', TOOL, { value: {} }, [at('/value/content', 'must be present')]],
  [
    'a tool with a text as isError',
    TOOL,
    { value: { content: 1, isError: 'no' } },
    [at('/value/isError', 'must be true or false')],
  ],
  ['a sign-in that is a list', AUTH, { value: [] }, [at('/value', 'must be an object')]],
  [
    'a declined one with a value',
    REFUND,
    { outcome: 'declined', value: { approved: true } },
    [at('/value', 'must be absent for "declined"')],
  ],
];

describeOnOneAdapter('Answers to a run, on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  // One for all tests, because the thread that checks answers takes 0.1 s to start.
  beforeAll(async () => (host = await startAgent(adapter, (...given) => agent.handler(...given))));
  beforeEach(() => void (agent = new ScriptedAgent()));
  afterEach(() => host.agent.eraseOwner('anonymous'));
  afterAll(() => host.close());

  it.each(VALID)(promise('answer.kinds', 'valid: %s'), async (_, question, value) => {
    const run = await askingRun(host, agent, [question]);
    expect((await answer(host.url, run.runId, [answered(question.key, value)])).status).toBe(200);
    expect(await run.answers).toEqual([
      { id: question.key, outcome: 'answered', value, by: 'anonymous', at: expect.any(String) },
    ]);
    expect(await finish(run)).toContain(JSON.stringify(value));
  });

  it.each(INVALID)(promise('answer.kinds', 'not valid: %s'), async (_, question, given, errors) => {
    const run = await askingRun(host, agent, [question]);
    const sent: InputAnswer = { id: question.key, outcome: 'answered', ...given };
    const refused = await answer(host.url, run.runId, [sent]);
    expect(refused.status).toBe(400);
    const { length } = errors;
    expect(await refused.json()).toMatchObject({
      code: 'invalid_answer',
      errors,
      detail: `"${errors[0]!.pointer}" ${errors[0]!.detail}${length > 1 ? ` (and ${length - 1} more)` : ''}.`,
    });
    expect(await jsonAt(host.url, `/query/${run.runId}`)).toMatchObject({
      status: 'input_required',
      events: 1,
    });
    await answer(host.url, run.runId, [declined(question.key)]);
    await finish(run);
  });

  it.each<[name: string, fits: unknown, exceeds: unknown, detail: string]>([
    ['bytes', 'x'.repeat(262_142), 'x'.repeat(262_143), 'must have at most 262144 bytes of JSON'],
    ['values', Array(9_999).fill(0), Array(10_000).fill(0), 'must have at most 10000 values'],
  ])(promise('answer.limits', '%s'), async (_, fits, exceeds, detail) => {
    const run = await askingRun(host, agent, [quarter({ schema: true })]);
    const refused = await answer(host.url, run.runId, [answered('quarter', exceeds)]);
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { code: 'invalid_answer', errors: [at('/value', detail)] },
    ]);
    expect((await answer(host.url, run.runId, [answered('quarter', fits)])).status).toBe(200);
    await finish(run);
  });

  it(promise('answer.limits', 'time'), async () => {
    const clock = new TestClock();
    const host = await startClockedAgent(adapter, clock, agent.handler);
    const run = await askingRun(host, agent, [quarter({ schema: { type: 'string', pattern: '^(a+)+$' } })]);
    // To compare it takes longer than any test.
    const refused = answer(host.url, run.runId, [answered('quarter', `${'a'.repeat(60)}b`)]);
    await clock.pass('schemaMs');
    expect([(await refused).status, await (await refused).json()]).toMatchObject([
      400,
      { code: 'invalid_answer', errors: [at('/value', 'takes too long to check: send a shorter one')] },
    ]);
    const { errors } = await (
      await answer(host.url, run.runId, [answered('quarter', 'ABC')])
    ).json<{ errors: FieldError[] }>();
    expect(errors).toEqual([at('/value', 'must match pattern "^(a+)+$"')]);
    expect((await answer(host.url, run.runId, [answered('quarter', 'aaa')])).status).toBe(200);
    await finish(run);
    await host.close();
  });

  it(promise('answer.kinds', 'the first fault of a value of more than 4 KiB'), async () => {
    const run = await askingRun(host, agent, [quarter({ schema: { items: { type: 'string' } } })]);
    const refused = await answer(host.url, run.runId, [answered('quarter', Array(3_000).fill(1))]);
    expect(await refused.json()).toMatchObject({ errors: [at('/value/0', 'must be string')] });
    await answer(host.url, run.runId, [declined('quarter')]);
    await finish(run);
  });

  it(promise('answer.kinds', 'faults of several answers at once, and at most 20 of a value'), async () => {
    const all = { type: 'array', items: { type: 'string' } };
    const run = await askingRun(host, agent, [REFUND, quarter({ schema: all })]);
    const answers = [answered('quarter', Array(100).fill(1)), answered('refund-881', 1)];
    const { errors } = await (await answer(host.url, run.runId, answers)).json<{ errors: FieldError[] }>();
    expect(errors).toHaveLength(21);
    expect(errors[19]).toEqual({ pointer: '/answers/0/value/19', detail: 'must be string' });
    expect(errors[20]).toEqual({ pointer: '/answers/1/value', detail: 'must be an object' });
    await answer(host.url, run.runId, [declined('quarter'), declined('refund-881')]);
    await finish(run);
  });

  it(promise('answer.partial'), async () => {
    const run = await askingRun(host, agent, [REFUND, quarter()]);
    const first = await answer(host.url, run.runId, [answered('quarter', 'Q2')]);
    expect(await first.json()).toMatchObject({ status: 'input_required', events: 2 });
    expect(host.agent.load()).toMatchObject({ running: 0, asking: 1 });
    await answer(host.url, run.runId, [YES]);
    expect(await run.answers).toMatchObject([YES, answered('quarter', 'Q2')]);
    const log = withoutTimes(await finish(run));
    expect(log.match(/"input_resolved","data":.*/g)).toEqual([
      '"input_resolved","data":{"answers":[{"id":"quarter","outcome":"answered","value":"Q2","by":"anonymous","at":"<time>"}]}}',
      '"input_resolved","data":{"answers":[{"id":"refund-881","outcome":"answered","value":{"approved":true},"by":"anonymous","at":"<time>"}]}}',
    ]);
  });

  it(promise('answer.atomic'), async () => {
    const run = await askingRun(host, agent, [REFUND, quarter(), quarter({ key: 'third' })]);
    await answer(host.url, run.runId, [answered('third', 'c')]);
    for (const [other, status] of [
      [answered('quarter', 1), 400],
      [answered('nobody', 'x'), 404],
      [answered('third', 'd'), 409],
    ] as const)
      expect((await answer(host.url, run.runId, [YES, other])).status).toBe(status);
    expect(await jsonAt(host.url, `/query/${run.runId}`)).toMatchObject({
      status: 'input_required',
      events: 2,
    });
    expect(await jsonAt(host.url, '/query/inputs')).toMatchObject({
      inputs: [{ id: 'quarter' }, { id: 'refund-881' }],
    });
    // One that was given before may be with the others.
    await answer(host.url, run.runId, [answered('third', 'c'), YES, declined('quarter')]);
    expect(await finish(run)).not.toContain('"d"');
  });

  it(promise('answer.private'), async () => {
    const log = OperatorLog.of(host.app);
    const secret = 'hunter2';
    const run = await askingRun(host, agent, [quarter({ private: true }), REFUND], { session: 's' });
    const seen = [await (await answer(host.url, run.runId, [answered('quarter', secret)])).whole()];
    seen.push(await (await answer(host.url, run.runId, [declined('quarter')])).whole());
    for (const path of [`${run.runId}/inputs`, 'inputs', '', run.runId, 'sessions/s'])
      seen.push(await (await get(host.url, `/query/${path}`)).whole());
    seen.push(await (await answer(host.url, run.runId, [answered('quarter', [secret])])).whole());
    expect(seen[1]).toContain('"answers":[{"id":"quarter","outcome":"answered","by":"anonymous","at":"');
    await answer(host.url, run.runId, [YES]);
    expect((await run.answers)[0]).toMatchObject({ id: 'quarter', outcome: 'answered', value: secret });
    seen.push(await finish(run), await (await get(host.url, '/query/sessions/s')).whole());
    const next = await askingRun(host, agent, [REFUND], { session: 's', text: 'Next' });
    seen.push(JSON.stringify(next.call.context.history), ...log.lines);
    expect(seen.join('\n')).not.toContain(secret);
    expect((await answer(host.url, next.runId, [YES])).status).toBe(200);
    await finish(next);
    expect((await postInputs(host.url, run.runId, '{"answers":[]}')).status).toBe(400);
  });
});
