import {
  type BaseEvent,
  buildResumeArray,
  EventSchemas,
  HttpAgent,
  verifyEvents,
} from '@ag-ui/client-0.0.59';
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
import { eventually } from '../../../test/support/conditions.js';
import type { ReadEvent } from '../../../test/support/client.js';
import { describeOnOneAdapter, type Host } from '../../../test/support/host.js';

/** The events as the schemas of this version read them, in an order that its verifier accepts. */
async function verified(events: ReadEvent[]): Promise<BaseEvent[]> {
  const read = events.map(({ data }) => EventSchemas.parse(JSON.parse(data)) as BaseEvent);
  // The client has an rxjs of its own.
  const verify = verifyEvents(false) as never as MonoTypeOperatorFunction<BaseEvent>;
  return lastValueFrom(from(read).pipe(verify, toArray()));
}

const LEGS: Record<string, Record<string, unknown>[]> = {
  asks: [ANSWERS],
  'asks twice': [{ quarter: 'Q1' }, { again: null }],
};

describeOnOneAdapter('The client of AG-UI that CopilotKit 1.75 has (0.0.59), on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    host = await startAgUi(adapter);
  });
  afterAll(() => host.close());
  const agentOf = (threadId: string, url = host.url) => new HttpAgent({ url: `${url}/ag-ui`, threadId });
  const say = (agent: HttpAgent, id: string, content: unknown) =>
    agent.addMessage({ id, role: 'user', content } as never);

  it.each(Object.keys(SCRIPTS))('accepts every stream of the agent that is "%s"', async (script) => {
    const old = { protocolVersion: undefined };
    const replies = [await post(host, inputOf(script, old))];
    const run = runIdOf(replies[0]!);
    if (script === 'endless') await host.agent.cancel('anonymous', run);
    await replies[0]!.whole();
    for (const [leg, answers] of (LEGS[script] ?? []).entries())
      replies.push(await post(host, resumeOf(script, answers, { runId: `run-${leg + 2}`, ...old })));
    for (const reply of replies) await verified(await reply.allEvents());
    if (script === 'asks tools') await host.agent.cancel('anonymous', run);
  });

  it('has the answer as messages, and its result', async () => {
    const agent = agentOf('answer');
    say(agent, '1', 'every');
    const { result, newMessages } = await agent.runAgent();
    expect([result, newMessages.map(({ role }) => role).join(' ')]).toEqual([
      { answer: 42 },
      'assistant activity assistant assistant tool tool reasoning assistant',
    ]);
  });

  it('executes the tools of its application', async () => {
    const agent = agentOf('tools');
    say(agent, '1', 'asks tools');
    await agent.runAgent();
    for (const id of ['call_a', 'call_b'])
      agent.addMessage({ id: `t-${id}`, role: 'tool', toolCallId: id, content: 'Here' });
    await agent.runAgent();
    expect(agent.messages.at(-1)!.content).toBe('Thanks');
  });

  it('ends without an error where a run is cancelled', async () => {
    const agent = agentOf('cancelled');
    say(agent, '1', 'endless');
    const answer = agent.runAgent();
    await eventually(() => agent.messages.length > 1);
    const { runs } = await host.agent.runs('anonymous', { session: 'cancelled', limit: 1 });
    await host.agent.cancel('anonymous', runs[0]!.id);
    expect((await answer).newMessages).toMatchObject([{ role: 'assistant', content: 'Hello' }]);
  });

  it('sends files', async () => {
    const agent = agentOf('files');
    const source = { type: 'data', value: Buffer.from('png').toString('base64'), mimeType: 'image/png' };
    say(agent, '1', [
      { type: 'text', text: 'Look' },
      { type: 'image', source, metadata: { filename: 'a.png' } },
    ]);
    const { newMessages } = await agent.runAgent();
    const { told } = JSON.parse(newMessages[0]!.content as string) as { told: string[] };
    expect(told).toEqual(['Look', expect.stringMatching(/^a\.png 3 \w{64}$/)]);
  });

  it('has the interrupts of a run, and resumes it', async () => {
    const agent = agentOf('interrupts');
    say(agent, '1', 'asks');
    await agent.runAgent();
    expect(agent.pendingInterrupts.map(({ id }) => id)).toEqual(['refund-881', 'quarter', 'auth']);
    const resume = buildResumeArray(agent.pendingInterrupts, {
      'refund-881': { status: 'resolved', payload: { approved: false } },
      quarter: { status: 'resolved', payload: 'Q2' },
      auth: { status: 'cancelled' },
    });
    await agent.runAgent({ resume });
    expect(agent.messages.at(-1)!.content).toBe('Thanks');
    expect(JSON.parse(agent.messages[2]!.content as string)).toMatchObject([
      { id: 'refund-881', outcome: 'answered', value: { approved: false } },
      { id: 'quarter', outcome: 'answered', value: 'Q2' },
      { id: 'auth', outcome: 'declined' },
    ]);
  });

  const errorsOf = async (agent: HttpAgent) => {
    const errors: unknown[] = [];
    await agent.runAgent(
      {},
      { onRunErrorEvent: ({ event }) => void errors.push([event.code, event.message]) },
    );
    return errors;
  };

  it('is told why a run has failed, and why it is refused', async () => {
    const agent = agentOf('fails');
    say(agent, '1', 'failed');
    expect(await errorsOf(agent)).toEqual([['quota_exceeded', 'The quota is used up.']]);
    await expect(agentOf('refused').runAgent()).rejects.toThrow('HTTP 400: {"message":"\\"/messages\\" must');
  });

  it('is told that the service stops', async () => {
    const service = await startAgUi(adapter);
    const agent = agentOf('drain', service.url);
    say(agent, '1', 'endless');
    const errors = errorsOf(agent);
    await eventually(() => agent.messages.length > 1);
    await service.close();
    expect(await errors).toEqual([['interrupted', expect.stringContaining('The service')]]);
  });
});
