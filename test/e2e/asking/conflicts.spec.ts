import type { ResolvedInput, RunListener } from '../../../src/index.js';
import { QueryModule } from '../../../src/index.js';
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
  YES,
} from '../../support/asking.js';
import { cancel, FULL, get } from '../../support/client.js';
import { describeOnOneAdapter, type Host, startHost } from '../../support/host.js';
import { ScriptedAgent } from '../../support/scripted-agent.js';

const NO = answered('refund-881', { approved: false });

describeOnOneAdapter('An answer after another one, on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  let events: string[];
  beforeEach(async () => {
    agent = new ScriptedAgent();
    events = [];
    const listener: RunListener = {
      asked: ({ kinds }) => void events.push(`asked ${kinds.join()}`),
      resolved: ({ id, outcome, by }) => void events.push(`resolved ${id} ${outcome} ${by}`),
      ended: ({ status }) => void events.push(`ended ${status}`),
    };
    const module = QueryModule.forRoot({
      handler: agent.handler,
      listeners: [listener],
      owner: ({ headers }) => headers['x-owner'] as string | undefined,
      runs: { drainMs: 0, stopDeadlineMs: 100 },
    });
    host = await startHost(adapter, module);
  });
  afterEach(() => host.close());

  it(promise('answer.again'), async () => {
    const run = await askingRun(host, agent);
    const first = await (await answer(host.url, run.runId, [YES])).json();
    await run.answers;
    const second = await answer(host.url, run.runId, [YES]);
    expect(second.status).toBe(200);
    expect(await second.json()).toEqual({ ...first, status: 'running' });
    const log = await finish(run);
    expect(log.match(/input_resolved/g)).toHaveLength(1);
    const third = await answer(host.url, run.runId, [YES]);
    expect(third.status).toBe(200);
    expect(await third.json()).toMatchObject({ status: 'completed', events: 3 });
    // The order of members says nothing.
    const form = await askingRun(host, agent, [quarter({ schema: { type: 'object' } })], { text: 'Form' });
    await answer(host.url, form.runId, [answered('quarter', { a: 1, b: [2] })]);
    expect((await answer(host.url, form.runId, [answered('quarter', { b: [2], a: 1 })])).status).toBe(200);
    await finish(form);
    expect(events.filter((event) => event.startsWith('ended'))).toEqual([
      'ended completed',
      'ended completed',
    ]);
    expect(events.slice(0, 3)).toEqual([
      'asked approval',
      'resolved refund-881 answered anonymous',
      'ended completed',
    ]);
  });

  it(promise('answer.again', 'as a stream'), async () => {
    const run = await askingRun(host, agent);
    await answer(host.url, run.runId, [YES]);
    await finish(run);
    const again = await answer(host.url, run.runId, [YES], FULL);
    expect((await again.allEvents()).map(({ id }) => id)).toEqual([`${run.runId}.2`, `${run.runId}.3`]);
  });

  it(promise('answer.first'), async () => {
    const run = await askingRun(host, agent, [REFUND, quarter()]);
    await answer(host.url, run.runId, [YES]);
    const [resolved] = (await jsonAt(host.url, `/query/${run.runId}/inputs`))['inputs'] as {
      resolved: ResolvedInput;
    }[];
    const { at } = resolved!.resolved;
    for (const other of [NO, declined('refund-881')]) {
      const refused = await answer(host.url, run.runId, [other, answered('quarter', 'Q1')]);
      expect(refused.status).toBe(409);
      expect(await refused.json()).toEqual({
        type: 'about:blank',
        title: 'Conflict',
        status: 409,
        code: 'input_resolved',
        detail: `The request "refund-881" was answered at ${at} in another way. That answer counts.`,
        answers: [{ ...YES, by: 'anonymous', at }],
      });
    }
    await answer(host.url, run.runId, [declined('quarter')]);
    await finish(run);
    const both = await answer(host.url, run.runId, [NO, answered('quarter', 'Q1')]);
    expect(await both.json()).toMatchObject({
      code: 'input_resolved',
      answers: [YES, { id: 'quarter', outcome: 'declined' }],
    });
  });

  it(promise('answer.first', 'of ten at the same time'), async () => {
    const run = await askingRun(host, agent, [quarter()]);
    const values = Array.from({ length: 10 }, (_, index) => `Q${index % 5}`);
    const replies = await Promise.all(
      values.map((value) => answer(host.url, run.runId, [answered('quarter', value)])),
    );
    const [won] = await run.answers;
    expect(replies.map(({ status }) => status)).toEqual(
      values.map((value) => (value === won!.value ? 200 : 409)),
    );
    expect((await finish(run)).match(/input_resolved/g)).toHaveLength(1);
  });

  it(promise('answer.late', 'the run has ended'), async () => {
    const run = await askingRun(host, agent, [REFUND, quarter()]);
    await answer(host.url, run.runId, [answered('quarter', 'Q1')]);
    await cancel(host.url, run.runId);
    await run.asked.whole();
    const late = await answer(host.url, run.runId, [YES]);
    expect(late.status).toBe(409);
    expect(await late.json()).toEqual({
      type: 'about:blank',
      title: 'Conflict',
      status: 409,
      code: 'run_ended',
      detail: 'The run has ended, and needs no answer any more.',
    });
    expect((await answer(host.url, run.runId, [answered('quarter', 'Q1')])).status).toBe(200);
    expect(await (await answer(host.url, run.runId, [answered('quarter', 'Q2')])).json()).toMatchObject({
      code: 'input_resolved',
    });
    expect(events).toEqual([
      'asked approval,input',
      'resolved quarter answered anonymous',
      'resolved refund-881 cancelled null',
      'ended cancelled',
    ]);
  });

  it(promise('answer.unknown'), async () => {
    const run = await askingRun(host, agent, [REFUND], { headers: { 'x-owner': 'ann' } });
    const bodyOf = async (runId: string, owner: string) => {
      const headers = { 'x-owner': owner };
      const reply = await answer(host.url, runId, [YES], headers);
      const read = await get(host.url, `/query/${runId}/inputs`, headers);
      expect([reply.status, read.status]).toEqual([404, 404]);
      return [await reply.whole(), await read.whole()];
    };
    const ofUnknown = await bodyOf('nobody', 'ann');
    expect(await bodyOf(run.runId, 'bob')).toEqual(ofUnknown);
    expect(ofUnknown[0]).toContain('"There is no such run, or it is no longer kept."');
    const body = JSON.stringify({ answers: [declined('other'), YES] });
    const refused = await postInputs(host.url, run.runId, body, { 'x-owner': 'ann' });
    expect(refused.status).toBe(404);
    expect(await refused.json()).toMatchObject({
      code: 'not_found',
      detail: 'The run has no request with the id "other".',
    });
    expect(await jsonAt(host.url, '/query/inputs', { 'x-owner': 'bob' })).toEqual({ inputs: [], next: null });
    expect(await jsonAt(host.url, '/query/inputs', { 'x-owner': 'ann' })).toMatchObject({
      inputs: [{ id: 'refund-881' }],
    });
    await answer(host.url, run.runId, [YES], { 'x-owner': 'ann' });
    await finish(run);
  });
});
