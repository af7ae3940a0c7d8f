import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BaseEvent, buildResumeArray, HttpAgent, type RunAgentInput, verifyEvents } from '@ag-ui/client';
import { EventSchemas } from '@ag-ui/core/schemas';
import fc from 'fast-check';
import { type Envelope, type HandlerFunction, message } from 'nest-agent-query';
import { distinctCalls } from 'nest-agent-query-adapters';
import { openStore } from 'nest-agent-query/stores';
import { from, lastValueFrom, type MonoTypeOperatorFunction, toArray } from 'rxjs';
import {
  ANSWERS,
  inputOf,
  post,
  resumeOf,
  runIdOf,
  SCRIPTS,
  startAgUi,
} from '../../../test/protocols/ag-ui-host.js';
import { casesOf } from '../../../test/support/long-form.js';
import { eventsOf, get, type ReadEvent } from '../../../test/support/client.js';
import { describeOnOneAdapter, type Host } from '../../../test/support/host.js';
import { AgUiForm } from '../src/ag-ui/ag-ui-form.js';

/** The events of a stream, each of which the schemas accept as it is, in an order that the verifier accepts. */
async function verified(events: ReadEvent[]): Promise<BaseEvent[]> {
  const read = events.map(({ data }) => JSON.parse(data) as BaseEvent);
  for (const event of read) expect(EventSchemas.parse(event)).toEqual(event);
  // The client has an rxjs of its own.
  const verify = verifyEvents() as never as MonoTypeOperatorFunction<BaseEvent>;
  return lastValueFrom(from(read).pipe(verify, toArray()));
}

/** The answers of each script that asks, leg by leg. */
const LEGS: Record<string, Record<string, unknown>[]> = {
  asks: [ANSWERS],
  'asks twice': [{ quarter: 'Q1' }, { again: null }],
};

describeOnOneAdapter('The official verifier and schemas of AG-UI on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    host = await startAgUi(adapter);
  });
  afterAll(() => host.close());

  it.each(Object.keys(SCRIPTS))('accept every stream of the agent that is "%s"', async (script) => {
    const replies = [await post(host, inputOf(script))];
    const run = runIdOf(replies[0]!);
    if (script === 'endless') await host.agent.cancel('anonymous', run);
    await replies[0]!.whole();
    for (const [leg, answers] of (LEGS[script] ?? []).entries())
      replies.push(await post(host, resumeOf(script, answers, { runId: `run-${leg + 2}` })));
    replies.push(await get(host.url, `/ag-ui?runId=${run}`));
    for (const reply of replies) await verified(await reply.allEvents());
    if (script === 'asks tools') await host.agent.cancel('anonymous', run);
  });

  it('accept what is refused in a stream', async () => {
    await verified(await (await post(host, resumeOf('unknown', { a: 1 }))).allEvents());
  });
});

/** Envelopes of any types in any order, as a log may have them, with pauses and restarts. */
const LOGS = fc
  .array(
    fc.constantFrom<Envelope>(
      ...[message('a'), message('b'), message('c', { id: 'm' }), { type: 'message', data: { content: '' } }],
      { type: 'reasoning', data: { content: 'r' } },
      { type: 'reasoning', data: { content: 'r', id: 'x' } },
      { type: 'tool_call', data: { id: 'c1', name: 't', arguments: { a: 1 } } },
      { type: 'tool_result', data: { id: 'c1', content: null } },
      { type: 'usage', data: { inputTokens: 1.5, outputTokens: 0 } },
      { type: 'progress', data: { done: 1 } },
      { type: 'result', data: { value: null } },
      { type: 'log', data: { message: 'l' } },
      { type: 'x', data: [] },
      { type: 'restarted', data: { attempt: 2, from: 2 } },
      { type: 'ask', data: { kind: 'approval', toolCallId: 'c1', name: 't' } },
      { type: 'ask', data: { kind: 'input' } },
      { type: 'ask', data: { kind: 'tool', toolCallId: 'c2', name: 't' } },
    ),
    { maxLength: 25 },
  )
  .map((envelopes) => {
    const log = envelopes.flatMap(({ type, data }, index) => {
      if (type !== 'ask') return [{ type, data }];
      const id = `q${index}`;
      const request = { id, message: 'm', expiresAt: '2026-11-25T10:00:00.000Z', ...(data as object) };
      return [
        { type: 'input_required', data: { requests: [request] } },
        { type: 'input_resolved', data: { answers: [{ id }] } },
      ];
    });
    return [...log, { type: 'done', data: { status: log.length % 2 === 0 ? 'completed' : 'cancelled' } }];
  });

/** What a response shows of a log that arrives in pieces. */
function shown(log: Envelope[], more: object, piece: number): ReadEvent[] {
  const form = new AgUiForm({ id: 'run' }, { threadId: 't', runId: 'r', ...more });
  let text = form.beginning();
  for (let at = 0; at < log.length && !form.isOver; at += piece) {
    const lines = log.slice(at, at + piece).map((each) => JSON.stringify(each));
    const slice = { lines: lines.join('\n'), first: at + 1, count: lines.length };
    text += form.framesOf(slice as never).text;
  }
  return eventsOf(text);
}

describe('The events of any log', () => {
  it('are accepted by the verifier, leg by leg, and are the same after any cut', async () => {
    await fc.assert(
      fc.asyncProperty(LOGS, fc.integer({ min: 1, max: 5 }), async (log, piece) => {
        const asked = log.flatMap(({ type, data }) =>
          type === 'input_required' ? [(data as { requests: { id: string }[] }).requests[0]!.id] : [],
        );
        const legs = [undefined, ...asked].map((after) =>
          shown(log, after === undefined ? {} : { after }, piece),
        );
        for (const leg of legs) await verified(leg);
        const all = legs.flat();
        expect(all.map(({ id }) => id)).toEqual(all.map((_, number) => `run.${number}`));
        for (const leg of legs) {
          const first = all.indexOf(leg[0]!);
          for (let number = 0; number < leg.length - 1; number++)
            expect(shown(log, { from: first + number + 1 }, piece)).toEqual(leg.slice(number + 1));
          const last = { id: undefined, data: leg.at(-1)!.data };
          expect(shown(log, { from: first + leg.length }, piece)).toEqual([last]);
        }
        const joined = shown(log, { resolved: new Set(asked) }, piece);
        await verified(joined);
      }),
      { numRuns: casesOf(200) },
    );
  });
});

describeOnOneAdapter('HttpAgent and calls that count from the beginning, on %s', (adapter) => {
  it('are calls of their own, in a run and in the next one', async () => {
    const handler: HandlerFunction = (_, context) =>
      distinctCalls(context, async function* () {
        for (const city of ['Rome', 'Oslo']) {
          yield { type: 'tool_call', data: { id: 'call_0', name: 'weather', arguments: { city } } };
          yield { type: 'tool_result', data: { id: 'call_0', content: city } };
        }
      });
    const host = await startAgUi(adapter, handler);
    try {
      const agent = new HttpAgent({ url: `${host.url}/ag-ui`, threadId: 'counted' });
      for (const id of ['1', '2']) {
        agent.addMessage({ id, role: 'user', content: 'Go' });
        await agent.runAgent();
      }
      const calls = agent.messages.flatMap((each) => (each.role === 'assistant' && each.toolCalls) || []);
      expect(calls.map((call) => call.function.arguments)).toEqual(
        ['Rome', 'Oslo', 'Rome', 'Oslo'].map((city) => JSON.stringify({ city })),
      );
      const results = agent.messages.flatMap((each) => (each.role === 'tool' ? [each.toolCallId] : []));
      expect(results).toEqual(calls.map(({ id }) => id));
      expect(new Set(results).size).toBe(4);
    } finally {
      await host.close();
    }
  });
});

describeOnOneAdapter('HttpAgent on %s', (adapter) => {
  const owner = ({ headers }: { headers: Record<string, string> }) => headers['x-caller'];
  let host: Host;
  beforeAll(async () => {
    host = await startAgUi(adapter, undefined, { owner, runs: { maxRunningPerOwner: 3 } });
  });
  afterAll(() => host.close());
  const agentOf = (threadId: string, caller = 'ada') =>
    new HttpAgent({ url: `${host.url}/ag-ui`, threadId, headers: { 'x-caller': caller } });
  const say = (agent: HttpAgent, id: string, content: string) =>
    agent.addMessage({ id, role: 'user', content });

  it('runs an agent, whose turns are its history', async () => {
    const agent = agentOf('t');
    say(agent, '1', 'every');
    const { result, newMessages } = await agent.runAgent();
    expect([result, newMessages.map(({ role }) => role).join(' ')]).toEqual([
      { answer: 42 },
      'assistant activity assistant assistant tool tool reasoning assistant',
    ]);
    say(agent, '2', 'and now?');
    const { newMessages: answer } = await agent.runAgent({ forwardedProps: { model: 'm' } });
    const told = JSON.parse(answer[0]!.content as string) as { kwargs: object; history: [string, string][] };
    expect(told.kwargs).toEqual({ model: 'm', session_id: 't' });
    expect(told.history).toEqual([['every', 'Hello "Ä\u2028"\notheragainEnd']]);
  });

  it('answers interrupts', async () => {
    const agent = agentOf('interrupts');
    say(agent, '1', 'asks');
    await agent.runAgent();
    expect(agent.pendingInterrupts.map(({ id, reason }) => [id, reason])).toEqual([
      ['refund-881', 'tool_call'],
      ['quarter', 'input_required'],
      ['auth', 'nest-agent-query:auth'],
    ]);
    const resume = buildResumeArray(agent.pendingInterrupts, {
      'refund-881': { status: 'resolved', payload: { approved: false } },
      quarter: { status: 'resolved', payload: 'Q2' },
      auth: { status: 'cancelled' },
    });
    await agent.runAgent({ resume });
    expect(agent.pendingInterrupts).toEqual([]);
    expect(agent.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(JSON.parse(agent.messages[2]!.content as string)).toMatchObject([
      { id: 'refund-881', outcome: 'answered', value: { approved: false } },
      { id: 'quarter', outcome: 'answered', value: 'Q2' },
      { id: 'auth', outcome: 'declined' },
    ]);
  });

  it('shows a thread again after a reload, and goes on, also where it is interrupted', async () => {
    class ThreadAgent extends HttpAgent {
      protected override connect(input: RunAgentInput) {
        return new HttpAgent({ url: `${this.url}/connect`, headers: this.headers }).run(input);
      }
    }
    const reloaded = async (threadId: string) => {
      const page = new ThreadAgent({ url: `${host.url}/ag-ui`, threadId, headers: { 'x-caller': 'ada' } });
      await page.connectAgent();
      return page;
    };
    const own = ({ messages }: HttpAgent) => messages.filter(({ role }) => role !== 'user');
    const agent = agentOf('reloaded');
    expect((await reloaded('reloaded')).messages).toEqual([]);
    say(agent, '1', 'every');
    await agent.runAgent();
    say(agent, '2', 'asks');
    await agent.runAgent();
    const page = await reloaded('reloaded');
    expect(own(page)).toEqual(own(agent));
    expect(page.messages.map(({ content }) => content)).toEqual(agent.messages.map(({ content }) => content));
    const asked = ({ pendingInterrupts }: HttpAgent) =>
      pendingInterrupts.map(({ id, reason }) => [id, reason]);
    expect(asked(page)).toEqual(asked(agent));
    expect(asked(page)).toHaveLength(3);
    const resume = buildResumeArray(page.pendingInterrupts, {
      'refund-881': { status: 'resolved', payload: { approved: true } },
      quarter: { status: 'resolved', payload: 'Q2' },
      auth: { status: 'cancelled' },
    });
    await page.runAgent({ resume });
    expect(page.messages.at(-1)!.content).toBe('Thanks');
    const last = await reloaded('reloaded');
    expect(own(last)).toEqual(own(page));
    expect(last.pendingInterrupts).toEqual([]);
    const { url } = last;
    const body = JSON.stringify(last.messages.slice(0, 1));
    const connected = await fetch(`${url}/connect`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-caller': 'ada' },
      body: `{"threadId":"reloaded","runId":"c","messages":${body}}`,
    });
    await verified(eventsOf(await connected.text()));
  });

  it('executes the tools of its application', async () => {
    const agent = agentOf('tools');
    say(agent, '1', 'asks tools');
    const pending: string[][] = [];
    const onRunFinishedEvent = ({ pendingToolCallIds }: { pendingToolCallIds?: string[] }) => {
      pending.push(pendingToolCallIds ?? []);
    };
    await agent.runAgent({}, { onRunFinishedEvent } as never);
    for (const id of pending[0]!)
      agent.addMessage({ id: `t-${id}`, role: 'tool', toolCallId: id, content: 'Here' });
    await agent.runAgent({}, { onRunFinishedEvent } as never);
    expect([pending, agent.messages.at(-1)!.content]).toEqual([[['call_a', 'call_b'], []], 'Thanks']);
  });

  it('fails where the run fails, and stops', async () => {
    const agent = agentOf('fails');
    say(agent, '1', 'failed');
    const errors: unknown[] = [];
    await agent.runAgent(
      {},
      { onRunErrorEvent: ({ event }) => void errors.push([event.code, event.message]) },
    );
    expect(errors).toEqual([['quota_exceeded', 'The quota is used up.']]);
    const stopped = agentOf('stops');
    say(stopped, '1', 'endless');
    await stopped.runAgent({}, { onTextMessageContentEvent: () => stopped.abortRun() });
    const { active } = await host.agent.session('ada', 'stops', 0, 1);
    // The disconnect policy of the service says when a run ends that nobody follows.
    await host.agent.cancel('ada', active!);
  });

  it('is told what is wrong, and nothing of another owner', async () => {
    const agent = agentOf('fails');
    await expect(agent.runAgent()).rejects.toThrow('HTTP 400: {"message":"\\"/messages\\" must end with');
    const own = agentOf('shared');
    say(own, '1', 'asks');
    await own.runAgent();
    const other = agentOf('shared', 'eve');
    const errors: unknown[] = [];
    const resume = buildResumeArray(own.pendingInterrupts, {
      'refund-881': { status: 'resolved', payload: { approved: true } },
      quarter: { status: 'resolved', payload: 'Q2' },
      auth: { status: 'resolved', payload: {} },
    });
    await other.runAgent({ resume }, { onRunErrorEvent: ({ event }) => void errors.push(event.code) });
    expect(errors).toEqual(['not_found']);
    await own.runAgent({ resume });
    expect(own.messages.at(-1)!.content).toBe('Thanks');
  });

  it('answers after a restart of the service', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'ag-ui-'));
    const handler: HandlerFunction = Object.assign(
      async function* (_, context) {
        const [answer] = await context.ask([{ key: 'name', kind: 'input', message: 'Your name?' }], {
          checkpoint: 'asked',
        });
        yield message(`Hello, ${answer!.value as string}`);
      } as HandlerFunction,
      { restarts: 1 },
    );
    const start = async () =>
      startAgUi(adapter, handler, { store: await openStore(`file:${join(directory, 'db')}`) });
    let service = await start();
    const agent = new HttpAgent({ url: `${service.url}/ag-ui`, threadId: 't' });
    say(agent, '1', 'Hi');
    await agent.runAgent();
    await service.close();
    service = await start();
    agent.url = `${service.url}/ag-ui`;
    const responses = { name: { status: 'resolved', payload: 'Ada' } } as const;
    await agent.runAgent({ resume: buildResumeArray(agent.pendingInterrupts, responses) });
    expect(agent.messages.at(-1)!.content).toBe('Hello, Ada');
    await service.close();
    await rm(directory, { recursive: true });
  });

  it('is refused beyond a limit', async () => {
    const limited = await startAgUi(adapter, undefined, {
      runs: { maxRunning: 1, maxWaiting: 0 },
    });
    const first = await post(limited, inputOf('endless'));
    await first.until('Hello');
    const agent = new HttpAgent({ url: `${limited.url}/ag-ui`, threadId: 't' });
    say(agent, '1', 'short');
    await expect(agent.runAgent()).rejects.toThrow('HTTP 503: {"message":');
    await limited.agent.cancel('anonymous', runIdOf(first));
    await first.whole();
    await limited.close();
  });
});
