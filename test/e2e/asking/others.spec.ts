import { ForbiddenException, Module } from '@nestjs/common';
import {
  getAgentToken,
  type AgentService,
  MemoryRunStore,
  QueryModule,
  type QueryModuleOptions,
} from '../../../src/index.js';
import { promise } from '../../promises.js';
import {
  answer,
  answered,
  askingRun,
  declined,
  finish,
  jsonAt,
  quarter,
  REFUND,
  YES,
} from '../../support/asking.js';
import { ask, FULL, get } from '../../support/client.js';
import { describeOnOneAdapter, type Host, startAgent, startHost } from '../../support/host.js';
import { ScriptedAgent } from '../../support/scripted-agent.js';

const RUNS = { drainMs: 0, stopDeadlineMs: 100 };
const owner: NonNullable<QueryModuleOptions['owner']> = ({ headers }) => headers['x-owner'] as string;
const by = (name: string) => ({ 'x-owner': name });

describeOnOneAdapter('Answers of others, on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  /** What `canAnswer` was asked. */
  let asked: unknown[];
  const start = async (canAnswer?: QueryModuleOptions['canAnswer']) => {
    agent = new ScriptedAgent();
    asked = [];
    host = await startAgent(adapter, agent.handler, { owner, ...(canAnswer && { canAnswer }) });
  };
  afterEach(() => host.close());
  const ofAnn = (text = 'Hi') =>
    askingRun(host, agent, [REFUND, quarter(), quarter({ key: 'secret', private: true })], {
      headers: by('ann'),
      session: 's',
      text,
    });
  /** The boss decides about refunds of ann. */
  const bossDecides: QueryModuleOptions['canAnswer'] = async (who, run, request) => {
    asked.push([who, run, request]);
    return who === 'boss' && run.owner === 'ann' && request.kind === 'approval';
  };
  const expectUnknown = async (runId: string, who: string) => {
    const unknown = await (await answer(host.url, 'nobody', [YES], by(who))).whole();
    const reply = await answer(host.url, runId, [YES], by(who));
    expect([reply.status, await reply.whole()]).toEqual([404, unknown]);
    expect((await get(host.url, `/query/${runId}/inputs`, by(who))).status).toBe(404);
  };

  it(promise('answer.others'), async () => {
    await start(bossDecides);
    const run = await ofAnn();
    const { inputs } = await jsonAt<{ inputs: object[] }>(host.url, `/query/${run.runId}/inputs`, by('boss'));
    expect(inputs).toEqual([expect.objectContaining({ id: 'refund-881', runId: run.runId, session: 's' })]);
    const view = await jsonAt(host.url, `/query/${run.runId}`, by('ann'));
    expect(asked).toEqual(
      ['refund-881', 'quarter', 'secret'].map((id): unknown[] => [
        'boss',
        { ...view, owner: 'ann' },
        expect.objectContaining({ id }),
      ]),
    );
    const hidden = await answer(host.url, run.runId, [YES, answered('quarter', 'Q1')], by('boss'));
    expect(await hidden.json()).toMatchObject({
      status: 404,
      detail: 'The run has no request with the id "quarter".',
    });
    // Only the owner follows the run.
    const accepted = await answer(host.url, run.runId, [YES], { ...FULL, ...by('boss') });
    expect(accepted.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(await accepted.json()).toMatchObject({ id: run.runId, status: 'input_required', events: 2 });
    for (const path of ['', '/query', '/query/inputs', '/query/sessions'])
      expect(await (await get(host.url, path || `/query/${run.runId}`, by('boss'))).whole()).not.toContain(
        'refund',
      );
    expect((await get(host.url, `/query/${run.runId}`, by('boss'))).status).toBe(404);
    expect(
      (await jsonAt<{ inputs: object[] }>(host.url, `/query/${run.runId}/inputs`, by('ann'))).inputs[0],
    ).toMatchObject({
      resolved: { outcome: 'answered', by: 'boss' },
    });
    const other = await answer(host.url, run.runId, [declined('refund-881')], by('ann'));
    expect(await other.json()).toMatchObject({ code: 'input_resolved', answers: [{ ...YES, by: 'boss' }] });
    expect((await answer(host.url, run.runId, [YES], by('ann'))).status).toBe(200);
    await expectUnknown(run.runId, 'carl');
    await answer(host.url, run.runId, [declined('quarter'), answered('secret', 'x')], by('ann'));
    expect(await run.answers).toMatchObject([{ by: 'boss' }, { by: 'ann' }, { by: 'ann' }]);
    expect(await finish(run)).toContain('"value":{"approved":true},"by":"boss"');
  });

  it(promise('answer.others', 'the run goes on although nobody follows it'), async () => {
    await start((who) => who === 'boss');
    const run = await askingRun(host, agent, [REFUND], { headers: by('ann') });
    run.asked.cut();
    await answer(host.url, run.runId, [YES], { ...FULL, ...by('boss') });
    await run.answers;
    run.call.finish();
    await host.idle();
    expect(await jsonAt(host.url, `/query/${run.runId}`, by('ann'))).toMatchObject({ status: 'completed' });
  });

  it(promise('answer.others', 'nobody without the option'), async () => {
    await start();
    const run = await ofAnn();
    await expectUnknown(run.runId, 'boss');
    await answer(host.url, run.runId, [YES, declined('quarter'), declined('secret')], by('ann'));
    await finish(run);
  });

  it(promise('answer.others', 'also what the option throws'), async () => {
    await start((who) => {
      if (who === 'eve') throw new ForbiddenException('You are not an approver.');
      throw new Error('The directory of approvers is down: secret-host');
    });
    const run = await ofAnn();
    const refused = await answer(host.url, run.runId, [YES], by('eve'));
    expect(await refused.json()).toMatchObject({ status: 403, detail: 'You are not an approver.' });
    const failed = await answer(host.url, run.runId, [YES], by('boss'));
    expect(failed.status).toBe(500);
    expect(await failed.whole()).not.toContain('secret-host');
    await answer(host.url, run.runId, [YES, declined('quarter'), declined('secret')], by('ann'));
    await finish(run);
  });

  it(promise('answer.modules'), async () => {
    const agents = { a: new ScriptedAgent(), b: new ScriptedAgent() };
    const store = new MemoryRunStore();
    const modules = (['a', 'b'] as const).map((name) =>
      QueryModule.forRoot({
        ...(name === 'b' && { name }),
        path: name,
        handler: agents[name].handler,
        store,
        owner,
        canAnswer: () => true,
        runs: { ...RUNS, maxAskingPerOwner: 1 },
      }),
    );
    @Module({ imports: modules })
    class TwoModules {}
    host = await startHost(adapter, TwoModules);
    const runs: string[] = [];
    for (const name of ['a', 'b'] as const) {
      const stream = await ask(host.url, 'Hi', { path: `/${name}`, headers: { ...FULL, ...by('ann') } });
      void (await agents[name].call(1)).context.ask([quarter({ key: name })]).catch(() => undefined);
      await stream.until('input_required');
      runs.push(stream.runId);
    }
    const [a, b] = runs as [string, string];
    expect(await jsonAt(host.url, '/a/inputs', by('ann'))).toMatchObject({ inputs: [{ id: 'a', runId: a }] });
    expect(await jsonAt(host.url, '/b/inputs', by('ann'))).toMatchObject({ inputs: [{ id: 'b', runId: b }] });
    for (const who of ['ann', 'bob'])
      for (const [path, other] of [
        ['a', b],
        ['b', a],
      ])
        expect((await get(host.url, `/${path}/${other}/inputs`, by(who))).status).toBe(404);
    const ofB = host.app.get<AgentService>(getAgentToken('b'), { strict: false });
    await expect(ofB.inputs.answer('ann', a, [declined('a')])).rejects.toMatchObject({ code: 'not_found' });
    // Bob may answer in the module that has the run.
    await ofB.inputs.answer('bob', b, [answered('b', 'Q1')]);
    expect(await jsonAt(host.url, `/b/${b}/inputs`, by('ann'))).toMatchObject({
      inputs: [{ resolved: { value: 'Q1', by: 'bob' } }],
    });
    expect(await jsonAt(host.url, '/a?status=input_required', by('ann'))).toMatchObject({
      runs: [{ id: a }],
    });
  });
});
