import { type InputRequiredEnvelope, message, type Question } from '../../../src/index.js';
import { promise } from '../../promises.js';
import {
  answer,
  answered,
  type AskingRun,
  askingRun,
  declined,
  finish,
  jsonAt,
  quarter,
  REFUND,
  withoutTimes,
  YES,
} from '../../support/asking.js';
import { ask, cancel, envelopesOf, follow, FULL, get } from '../../support/client.js';
import { describeOnOneAdapter, type Host, startAgent } from '../../support/host.js';
import { ScriptedAgent } from '../../support/scripted-agent.js';

const EXPIRES_IN_MS = 3_600_000;
const QUESTIONS: Question[] = [
  { ...REFUND, expiresInMs: EXPIRES_IN_MS },
  quarter({ schema: { type: 'string', enum: ['Q1', 'Q2'] }, expiresInMs: EXPIRES_IN_MS, onExpire: 'fail' }),
];
const REQUIRED =
  '{"type":"input_required","data":{"requests":[' +
  '{"id":"refund-881","kind":"approval","message":"Refund 120 EUR to customer 881?","toolCallId":"call_9","name":"refund",' +
  '"arguments":{"customer":881,"amount":120},"editable":true,"expiresAt":"<time>","onExpire":"decline"},' +
  '{"id":"quarter","kind":"input","message":"Which quarter?","schema":{"type":"string","enum":["Q1","Q2"]},' +
  '"expiresAt":"<time>","onExpire":"fail"}]}}';
const RESOLVED =
  '{"type":"input_resolved","data":{"answers":[' +
  '{"id":"refund-881","outcome":"answered","value":{"approved":true},"by":"anonymous","at":"<time>"},' +
  '{"id":"quarter","outcome":"declined","by":"anonymous","at":"<time>"}]}}';
const VIEW = {
  id: 'refund-881',
  kind: 'approval',
  message: 'Refund 120 EUR to customer 881?',
  toolCallId: 'call_9',
  name: 'refund',
  arguments: { customer: 881, amount: 120 },
  editable: true,
  expiresAt: expect.any(String),
  onExpire: 'decline',
  askedAt: expect.any(String),
};

describeOnOneAdapter('What a run asks, on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  beforeEach(async () => {
    agent = new ScriptedAgent();
    host = await startAgent(adapter, agent.handler, { runs: { askInMemoryMs: EXPIRES_IN_MS } });
  });
  afterEach(() => host.close());

  it(promise('asking.envelope', 'byte for byte'), async () => {
    const asked = await ask(host.url, 'Hi', { headers: FULL });
    const call = await agent.call(1);
    call.emit(message('Let me see.'));
    await asked.until('Let me see.');
    const answers = call.context.ask(QUESTIONS);
    await asked.until('input_required');
    const given = await answer(host.url, asked.runId, [YES, declined('quarter')]);
    expect(given.status).toBe(200);
    expect(await answers).toEqual([
      { ...YES, by: 'anonymous', at: expect.any(String) },
      { id: 'quarter', outcome: 'declined', by: 'anonymous', at: expect.any(String) },
    ]);
    call.emit(message('Refunded.'));
    call.finish();
    const events = [
      '{"type":"message","data":{"content":"Let me see."}}',
      REQUIRED,
      RESOLVED,
      '{"type":"message","data":{"content":"Refunded."}}',
      '{"type":"done","data":{"status":"completed"}}',
    ];
    const full = events.map((event, index) => `id: ${asked.runId}.${index + 1}\ndata: ${event}\n\n`).join('');
    expect(withoutTimes(await asked.whole())).toBe(`retry: 1000\n${full}`);
    expect(withoutTimes(await (await follow(host.url, asked.runId)).whole())).toBe(`retry: 1000\n${full}`);
    const plain = await ask(host.url, 'Hi');
    const second = await agent.call(2);
    const declining = second.context.ask(QUESTIONS);
    await plain.until('input_required');
    await answer(host.url, plain.runId, [declined('refund-881'), declined('quarter')]);
    await declining;
    second.finish();
    expect(
      withoutTimes(await plain.whole())
        .split('\n\n')
        .slice(0, 1),
    ).toEqual([`data: ${REQUIRED}`]);
  });

  it(promise('asking.envelope', 'the times'), async () => {
    const before = Date.now();
    const run = await askingRun(host, agent, QUESTIONS);
    const { asked, answers } = run;
    const [required] = envelopesOf(asked.text) as InputRequiredEnvelope[];
    const [one, two] = required!.data.requests.map(({ expiresAt }) => Date.parse(expiresAt) - EXPIRES_IN_MS);
    expect(one).toBe(two);
    expect(one).toBeGreaterThanOrEqual(before);
    expect(one).toBeLessThanOrEqual(Date.now());
    const sentAt = Date.now();
    await answer(host.url, asked.runId, [YES, answered('quarter', 'Q1')]);
    for (const { at } of await answers) {
      expect(Date.parse(at)).toBeGreaterThanOrEqual(sentAt);
      expect(Date.parse(at)).toBeLessThanOrEqual(Date.now());
    }
    await finish(run);
  });

  it(promise('asking.status'), async () => {
    const asking = await askingRun(host, agent, [REFUND], { session: 's' });
    const { runId, answers } = asking;
    const run = await jsonAt(host.url, `/query/${runId}`);
    expect(run).toEqual({
      id: runId,
      status: 'input_required',
      session: 's',
      createdAt: expect.any(String),
      startedAt: expect.any(String),
      endedAt: null,
      events: 1,
    });
    expect(await jsonAt(host.url, '/query?status=input_required')).toEqual({ runs: [run], next: null });
    expect(await jsonAt(host.url, '/query?status=running')).toEqual({ runs: [], next: null });
    expect(await jsonAt(host.url, '/query/sessions/s')).toEqual({
      id: 's',
      active: null,
      asking: runId,
      waiting: 0,
      turns: [],
      next: null,
    });
    expect(await jsonAt(host.url, '/query/sessions')).toMatchObject({
      sessions: [{ id: 's', turns: 0, active: null, asking: runId }],
    });
    const given = await answer(host.url, runId, [YES]);
    expect(await given.json()).toMatchObject({ id: runId, events: 2 });
    await answers;
    expect(await jsonAt(host.url, `/query/${runId}`)).toMatchObject({ status: 'running', events: 2 });
    expect(await jsonAt(host.url, '/query?status=input_required')).toEqual({ runs: [], next: null });
    expect(await jsonAt(host.url, '/query/sessions/s')).toMatchObject({ active: runId, asking: null });
    await finish(asking);
  });

  it(promise('asking.inputs'), async () => {
    const asking = await askingRun(host, agent, [REFUND, quarter()], { session: 's' });
    const { runId } = asking;
    const views = [
      { runId, session: 's', ...VIEW, resolved: null },
      expect.objectContaining({ runId, session: 's', id: 'quarter', kind: 'input', resolved: null }),
    ];
    expect(await jsonAt(host.url, `/query/${runId}/inputs`)).toEqual({ inputs: views });
    await answer(host.url, runId, [YES]);
    const resolved = {
      outcome: 'answered',
      value: { approved: true },
      by: 'anonymous',
      at: expect.any(String),
    };
    const later = { inputs: [{ runId, session: 's', ...VIEW, resolved }, views[1]] };
    expect(await jsonAt(host.url, `/query/${runId}/inputs`)).toEqual(later);
    expect(await jsonAt(host.url, '/query/inputs')).toEqual({ inputs: [views[1]], next: null });
    await answer(host.url, runId, [declined('quarter')]);
    await finish(asking);
    const ended = await jsonAt(host.url, `/query/${runId}/inputs`);
    expect(ended).toMatchObject({ inputs: [{ resolved }, { resolved: { outcome: 'declined' } }] });
    const silent = await ask(host.url, 'Nothing');
    (await agent.call(2)).finish();
    await silent.whole();
    expect(await jsonAt(host.url, `/query/${silent.runId}/inputs`)).toEqual({ inputs: [] });
  });

  it(promise('asking.inbox'), async () => {
    const runs: AskingRun[] = [];
    const asking = (text: string, ...keys: string[]) =>
      askingRun(
        host,
        agent,
        keys.map((key) => quarter({ key })),
        { text },
      );
    for (const name of ['0', '1', '2']) runs.push(await asking(name, `${name}a`, `${name}b`));
    expect(await jsonAt(host.url, '/query/inputs')).toMatchObject({
      inputs: ['2b', '2a', '1b', '1a', '0b', '0a'].map((id) => ({ id, session: null, resolved: null })),
      next: null,
    });
    const first = await jsonAt(host.url, '/query/inputs?limit=4');
    expect(first).toMatchObject({ inputs: [{ id: '2b' }, { id: '2a' }, { id: '1b' }, { id: '1a' }] });
    // What comes and goes meanwhile does not move the rest.
    await answer(host.url, runs[2]!.runId, [declined('2a')]);
    const fourth = await asking('3', '3a');
    const second = await jsonAt(host.url, `/query/inputs?limit=4&after=${String(first['next'])}`);
    expect(second).toMatchObject({ inputs: [{ id: '0b' }, { id: '0a' }], next: null });
    expect((await get(host.url, '/query/inputs?limit=0')).status).toBe(400);
    expect((await get(host.url, '/query/inputs?after=x')).status).toBe(400);
    for (const run of [...runs, fourth]) {
      await cancel(host.url, run.runId);
      await run.asked.whole();
    }
    expect(await jsonAt(host.url, '/query/inputs')).toEqual({ inputs: [], next: null });
  });
});
