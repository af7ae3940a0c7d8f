import { request } from '../../support/client.js';
import type { Cluster, EndedSpan } from '../../support/cluster/cluster.js';
import { clusterSuite } from '../../support/cluster/suite.js';
import { eventuallyElsewhere } from '../../support/conditions.js';
import { traceparentOf } from '../../support/spans.js';
import { promise } from '../../promises.js';

describe('The traces of runs that several processes serve', () => {
  const worker = { role: 'worker', runs: { maxRunning: 1 } } as const;
  const suite = clusterSuite(
    { api: { role: 'api' }, other: { role: 'api' }, one: worker },
    { leaseMs: 2_000, restarts: 1, isTraced: true },
  );
  let cluster: Cluster;
  beforeEach(() => ({ cluster } = suite));

  const pidOf = (name: string) => cluster.member(name).pid;
  /** The spans of a trace, when there are so many. */
  const spansOf = async (traceId: string, count: number): Promise<EndedSpan[]> => {
    const found = async () => (await cluster.spans()).filter((span) => span.traceId === traceId);
    await eventuallyElsewhere(async () => (await found()).length >= count);
    return found();
  };
  const named = (spans: EndedSpan[], name: string) => spans.filter((span) => span.name === name);

  it(promise('cluster.traces', 'another process executes, and another resumes'), async () => {
    const { traceparent, traceId, spanId } = traceparentOf(1);
    const usage = { inputTokens: 5, outputTokens: 7 };
    const steps = [{ emit: 1 }, { span: 'model' }, { usage }, { emit: 1 }];
    const asked = cluster.ask(cluster.member('api'), { traceparent, steps });
    await asked.ended;
    const spans = await spansOf(traceId, 4);
    const [run] = named(spans, 'invoke_agent steered');
    expect(run).toMatchObject({
      pid: pidOf('api'),
      parent: spanId,
      attributes: { 'nest_agent_query.run.id': asked.runId, 'nest_agent_query.run.status': 'completed' },
    });
    expect(named(spans, 'admit_run')).toMatchObject([{ pid: pidOf('api'), parent: run!.id }]);
    const [execution] = named(spans, 'execute_run');
    expect(execution).toMatchObject({
      pid: pidOf('one'),
      parent: run!.id,
      attributes: {
        'gen_ai.usage.input_tokens': 5,
        'gen_ai.usage.output_tokens': 7,
        'nest_agent_query.run.status': 'completed',
      },
    });
    expect(named(spans, 'model')).toMatchObject([{ pid: pidOf('one'), parent: execution!.id }]);
    expect(spans).toHaveLength(4);

    const resuming = traceparentOf(2);
    const headers = { 'last-event-id': `${asked.runId}.1`, traceparent: resuming.traceparent };
    await (await request(cluster.member('other').url, { headers })).whole();
    expect(await spansOf(resuming.traceId, 1)).toMatchObject([
      { name: 'resume_run', pid: pidOf('other'), parent: resuming.spanId, links: [run!.id] },
    ]);
  });

  it(promise('cluster.traces', 'the process that executes is killed'), async () => {
    const { traceparent, traceId } = traceparentOf(3);
    const asked = cluster.ask(cluster.member('api'), {
      traceparent,
      steps: [{ emit: 1 }, { gate: 'killed' }, { span: 'model' }],
    });
    await cluster.gates.reached('killed');
    await cluster.member('one').kill();
    cluster.gates.open('killed');
    await cluster.add('two', worker);
    await asked.ended;
    const spans = await spansOf(traceId, 4);
    const [run] = named(spans, 'invoke_agent steered');
    expect(run).toMatchObject({
      pid: pidOf('api'),
      attributes: { 'nest_agent_query.run.status': 'completed' },
    });
    const [execution] = named(spans, 'execute_run');
    expect(execution).toMatchObject({
      pid: pidOf('two'),
      parent: run!.id,
      attributes: { 'nest_agent_query.run.attempt': 2 },
    });
    expect(named(spans, 'model')).toMatchObject([{ pid: pidOf('two'), parent: execution!.id }]);
    expect(spans).toHaveLength(4);
  });

  it(promise('cluster.traces', 'nobody follows the run'), async () => {
    const { traceparent, traceId } = traceparentOf(4);
    const headers = { traceparent, prefer: 'respond-async' };
    const kwargs = { steps: [{ emit: 1 }] };
    const body = JSON.stringify({ parts: [{ type: 'text', text: 'Hello' }], kwargs });
    const reply = await request(cluster.member('api').url, { headers }, body);
    expect(reply.status).toBe(202);
    const spans = await spansOf(traceId, 3);
    const [run] = named(spans, 'invoke_agent steered');
    expect(named(spans, 'execute_run')).toMatchObject([
      { parent: run!.id, attributes: { 'nest_agent_query.run.status': 'completed' } },
    ]);
  });
});
