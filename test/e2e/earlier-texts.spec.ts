import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lastValueFrom } from 'rxjs';
import { type AgentService, type HandlerFunction, isApproved, message, type Turn } from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import { promise } from '../promises.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';

const LONG = 'long '.repeat(20_000);
const EARLIER = [
  { from: 'user', text: 'What is 6 times 7?' },
  { from: 'user', text: LONG },
  { from: 'assistant', text: '42' },
  { from: 'user', text: 'Are you sure?' },
] as const;
const ABOVE = `What is 6 times 7?,${LONG}: 42 · Are you sure?: `;

describeOnOneAdapter('A query with an earlier conversation, on %s', (adapter) => {
  let host: Host;
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  /** Says what it knows of the conversation. */
  const recalls: HandlerFunction = async function* (_, { history }) {
    yield message(history.map(told).join(' · '));
  };
  const query = (text: string, session?: string) => ({
    parts: [{ type: 'text' as const, text }],
    kwargs: session === undefined ? {} : { session_id: session },
  });
  const answerOf = async (agent: AgentService, ...asked: Parameters<AgentService['query']>) => {
    const stream = agent.query(...asked);
    const { id } = (await stream.admitted).run!;
    await lastValueFrom(stream);
    return { id, text: await textOf(agent, id) };
  };

  it(promise('module.earlier'), async () => {
    host = await startAgent(adapter, recalls);
    const { agent } = host;
    expect((await answerOf(agent, query('Sure?'), { earlier: EARLIER })).text).toBe(ABOVE);
    const first = await answerOf(agent, query('Sure?', 's'), { earlier: EARLIER });
    expect(first.text).toBe(ABOVE);
    const second = await answerOf(agent, query('Really?', 's'));
    expect(second.text).toBe(`${ABOVE} · Sure?: ${ABOVE}`);
    const { turns } = await agent.session('anonymous', 's', 0, 10);
    expect(turns[0]!.parts.map((part) => part.type === 'text' && part.earlier)).toEqual([
      'user',
      'user',
      'assistant',
      'user',
      undefined,
    ]);
    expect((await agent.sessions('anonymous')).sessions).toMatchObject([{ title: 'Sure?' }]);
    const repeated = { earlier: EARLIER, idempotencyKey: 'k' };
    const { id } = await answerOf(agent, query('Again?'), repeated);
    expect((await answerOf(agent, query('Again?'), repeated)).id).toBe(id);
    const other = agent.query(query('Again?'), { ...repeated, earlier: EARLIER.slice(1) });
    await expect(other.admitted).rejects.toMatchObject({ code: 'idempotency_conflict' });
  });

  it(promise('module.earlier', 'in another process'), async () => {
    const directory = await mkdtemp(join(tmpdir(), 'earlier-'));
    try {
      const asks: HandlerFunction = Object.assign(
        async function* (...[asked, context]: Parameters<HandlerFunction>) {
          const [answer] = await context.ask([
            { key: 'k', kind: 'approval', message: 'Tell?', name: 'tell' },
          ]);
          if (isApproved(answer)) yield* recalls(asked, context) as AsyncIterable<never>;
        } as HandlerFunction,
        { restarts: 1 },
      );
      const start = async () =>
        (host = await startAgent(adapter, asks, {
          store: await openStore(`file:${join(directory, 'runs.db')}`),
        }));
      await start();
      const { run } = await host.agent.query(query('Sure?'), { earlier: EARLIER }).admitted;
      const { id } = run!;
      await eventually(async () => (await host.agent.find('anonymous', id)).status === 'input_required');
      await host.close();
      await start();
      await host.agent.inputs.answer('anonymous', id, [
        { id: 'k', outcome: 'answered', value: { approved: true } },
      ]);
      await lastValueFrom(host.agent.follow('anonymous', id));
      expect(await textOf(host.agent, id)).toBe(ABOVE);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

const told = ({ parts, text }: Turn) =>
  `${parts.map((part) => (part.type === 'text' ? part.text : '')).join()}: ${text}`;

async function textOf(agent: AgentService, runId: string): Promise<string> {
  let text = '';
  await agent.follow('anonymous', runId).forEach((envelope) => {
    if (envelope.type === 'message') text += (envelope.data as { content: string }).content;
  });
  return text;
}
