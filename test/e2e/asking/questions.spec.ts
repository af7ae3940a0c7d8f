import {
  type HandlerFunction,
  isApproved,
  message,
  type Query,
  type QueryContext,
  type Question,
} from '../../../src/index.js';
import { promise } from '../../promises.js';
import {
  answer,
  answered,
  askingRun,
  asks,
  declined,
  finish,
  jsonAt,
  quarter,
  REFUND,
  YES,
} from '../../support/asking.js';
import { ask } from '../../support/client.js';
import { describeOnOneAdapter, type Host, startAgent } from '../../support/host.js';
import { OperatorLog } from '../../support/operator-log.js';
import { ScriptedAgent } from '../../support/scripted-agent.js';

const KIB = 1024;

describeOnOneAdapter('The questions of a handler, on %s', (adapter) => {
  let host: Host;
  const agent = () => new ScriptedAgent();
  const start = async (handler: HandlerFunction) => (host = await startAgent(adapter, handler));
  const startScripted = async (scripted = agent()) => {
    await start(scripted.handler);
    return scripted;
  };
  afterEach(() => host.close());
  it(promise('ask.keys'), async () => {
    const scripted = await startScripted();
    const run = await askingRun(host, scripted);
    const twice = asks(run.call, [{ ...REFUND, message: 'Once more?' }]);
    await answer(host.url, run.runId, [YES]);
    expect(await run.answers).toEqual(await twice);
    // Of a pause, only what is new is asked.
    const mixed = asks(run.call, [quarter(), REFUND, quarter({ key: 'b' })]);
    await run.asked.until('"b"');
    const given = [declined('quarter'), declined('b')];
    expect((await answer(host.url, run.runId, given)).status).toBe(200);
    expect(await mixed).toMatchObject([given[0], YES, given[1]]);
    const log = await finish(run);
    expect(log.match(/"id":"refund-881","kind"/g)).toHaveLength(1);
    expect(await jsonAt(host.url, `/query/${run.runId}/inputs`)).toMatchObject({
      inputs: [{ id: 'refund-881', message: REFUND.message }, { id: 'quarter' }, { id: 'b' }],
    });
  });

  it(promise('ask.limits'), async () => {
    const scripted = await startScripted();
    const run = await askingRun(host, scripted, [quarter({ message: 'x'.repeat(255 * KIB) })]);
    await answer(host.url, run.runId, [declined('quarter')]);
    await run.answers;
    const asked = (questions: unknown) => run.call.context.ask(questions as Question[]);
    const many = Array.from({ length: 65 }, (_, index) => quarter({ key: `${index}` }));
    await expect(asked(many)).rejects.toThrow('context.ask takes at most 64 questions at once, not 65.');
    await expect(asked([])).rejects.toThrow('context.ask needs an array of at least one question.');
    const long = asked([quarter({ key: 'long', message: 'ü'.repeat(128 * KIB) })]);
    await expect(long).rejects.toThrow(
      /^The question "long" has 26\d{4} bytes of JSON, more than the 262144 allowed\.$/,
    );
    await expect(long).rejects.toBeInstanceOf(RangeError);
    const large = asks(run.call, [quarter({ key: 'b' })], { checkpoint: 'x'.repeat(KIB * KIB) });
    await expect(large).rejects.toBeInstanceOf(RangeError);
    await finish(run);
  });

  it.each<[what: string, question: object, fault: string]>([
    ['no key', { key: '' }, 'its key must have 1 to 200 characters, and no control characters'],
    [
      'a key with a line break',
      { key: 'a\nb' },
      'its key must have 1 to 200 characters, and no control characters',
    ],
    ['another kind', { kind: 'choice' }, 'its kind must be one of approval, input, tool, auth'],
    ['no message', { message: undefined }, 'its message must be a string'],
    [
      'a time of 31 days',
      { expiresInMs: 31 * 86_400_000 },
      'its expiresInMs must be a whole number from 1 to 2592000000',
    ],
    [
      'a member of the request',
      { expiresAt: '2026-11-25T10:00:00.000Z' },
      'expiresAt is not an option. Did you mean expiresInMs?',
    ],
    ['another onExpire', { onExpire: 'approve' }, 'its onExpire must be "decline", "fail" or { value }'],
    ['a default of another type', { onExpire: { value: 1 } }, '/onExpire/value must be a string'],
    ['no default', { onExpire: { value: undefined } }, '/onExpire/value must be present'],
    ['no url', { kind: 'auth' }, 'an auth needs a url'],
    ['a url that is a script', { kind: 'auth', url: 'javascript:alert(1)' }, 'an auth needs a url'],
    ['no name', { kind: 'tool' }, 'a tool needs a name'],
    ['a schema that is none', { schema: { type: 'text' } }, 'its schema is not valid: schema is invalid'],
    [
      'a schema that names another',
      { schema: { $ref: 'https://example.com/a' } },
      "its schema is not valid: can't resolve",
    ],
    ['a schema that answers later', { schema: { $async: true } }, 'its schema is not valid: "$async" is not'],
  ])(promise('ask.invalid', '%s'), async (_, question, fault) => {
    const scripted = agent();
    await start(scripted.handler);
    const asked = await ask(host.url, 'Hi');
    const call = await scripted.call(1);
    const asking = asks(call, [{ ...quarter(), ...question }]);
    await expect(asking).rejects.toThrow(`cannot be asked: ${fault}`);
    await expect(asking).rejects.toBeInstanceOf(TypeError);
    call.finish();
    expect(await asked.whole()).toBe('data: {"type":"done","data":{"status":"completed"}}\n\n');
  });

  it(promise('ask.invalid', 'and where the handler does not catch that, its run fails'), async () => {
    await start(async function* (_: Query, context: QueryContext) {
      yield message(String(isApproved((await context.ask([REFUND, REFUND]))[0])));
    });
    const log = OperatorLog.of(host.app);
    const { done } = await (await ask(host.url)).answer();
    expect(done).toMatchObject([{ status: 'failed', error: { code: 'handler_failed' } }]);
    expect(log.lines.join('\n')).toContain('Two questions have the key "refund-881".');
  });

  it(promise('ask.invalid', 'which does not depend on the $id of an earlier schema'), async () => {
    const scripted = await startScripted();
    const schemas = ['string', 'integer'].map((type) => ({ $id: 'one', type }));
    const questions = schemas.map((schema) => quarter({ key: schema.type, schema }));
    const run = await askingRun(host, scripted, questions);
    const answers = [answered('string', 'a'), answered('integer', 1)];
    expect((await answer(host.url, run.runId, answers)).status).toBe(200);
    await finish(run);
  });

  it(promise('ask.copies'), async () => {
    const scripted = await startScripted();
    const question = { ...REFUND, arguments: { amount: 120 } };
    const run = await askingRun(host, scripted, [question]);
    question.arguments.amount = 9_000;
    expect(await jsonAt(host.url, '/query/inputs')).toMatchObject({
      inputs: [{ arguments: { amount: 120 } }],
    });
    await answer(host.url, run.runId, [YES]);
    const [given] = await run.answers;
    (given!.value as { approved: boolean }).approved = false;
    expect((await answer(host.url, run.runId, [YES])).status).toBe(200);
    expect(await asks(run.call, [REFUND])).toMatchObject([YES]);
    await finish(run);
  });

  it.each(['input_required', 'input_resolved'])(promise('ask.reserved', '%s'), async (type) => {
    await start(async function* () {
      yield { type, data: { requests: [], answers: [] } };
    });
    expect((await (await ask(host.url)).answer()).done).toMatchObject([
      { error: { code: 'invalid_envelope' } },
    ]);
  });
});
