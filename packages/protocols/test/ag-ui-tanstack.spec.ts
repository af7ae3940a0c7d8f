import { toolDefinition } from '@tanstack/ai';
import { ChatClient, type ChatClientOptions, fetchServerSentEvents } from '@tanstack/ai-client';
import { startAgUi } from '../../../test/protocols/ag-ui-host.js';
import { eventually } from '../../../test/support/conditions.js';
import { EventCutter } from '../../../test/support/event-cutter.js';
import { describeOnOneAdapter, type Host } from '../../../test/support/host.js';

describeOnOneAdapter("TanStack AI's client on %s", (adapter) => {
  let host: Host;
  let cutter: EventCutter;
  beforeAll(async () => {
    host = await startAgUi(adapter);
    cutter = await EventCutter.before(host.url);
  });
  afterAll(async () => {
    await cutter.stop();
    await host.close();
  });

  const clientOf = (threadId: string, more: Partial<ChatClientOptions> = {}) => {
    const types: string[] = [];
    const errors: Error[] = [];
    cutter.requests = [];
    const client = new ChatClient({
      threadId,
      connection: fetchServerSentEvents(`${cutter.url}/ag-ui`, { reconnect: { delayMs: 0 } }),
      onChunk: ({ type }) => void types.push(type),
      onError: (error) => void errors.push(error),
      ...more,
    } as ChatClientOptions);
    return { client, types, errors };
  };
  /** The parts of the answer, without what differs between runs. */
  const partsOf = (client: ChatClient) => {
    const parts = client.getMessages().flatMap(({ role, parts: all }) => (role === 'assistant' ? all : []));
    return JSON.stringify(parts).replace(/[0-9a-f-]{36}/g, '<run>');
  };

  it('resumes by itself when a proxy cuts it after every event', async () => {
    const { client, types, errors } = clientOf('whole');
    await client.sendMessage('every');
    const whole = partsOf(client);
    expect([client.getStatus(), errors]).toEqual(['ready', []]);
    const all = types.length;

    // One cut, at each event.
    for (let events = 1; events <= all; events++) {
      const cut = clientOf(`cut ${events}`);
      cutter.cuts = [events];
      await cut.client.sendMessage('every');
      expect([partsOf(cut.client), cut.errors, cutter.requests]).toEqual([
        whole,
        [],
        ['POST', `POST ${events - 1}`],
      ]);
    }

    // Each connection is cut after one event.
    const rolled = clientOf('rolled');
    cutter.cuts = Array<number>(all).fill(1);
    await rolled.client.sendMessage('every');
    expect([partsOf(rolled.client), rolled.errors, cutter.requests.length]).toEqual([whole, [], all + 1]);
    cutter.cuts = [];
  });

  it('answers interrupts, also where it is cut', async () => {
    const { client, types, errors } = clientOf('asks');
    cutter.cuts = [2, Infinity, 1];
    await client.sendMessage('asks');
    const interrupts = client.getInterrupts();
    expect(interrupts.map(({ id, canResolve }) => [id, canResolve])).toEqual([
      ...[
        ['refund-881', true],
        ['quarter', true],
        ['auth', true],
      ],
    ]);
    types.length = 0;
    const answers = [{ approved: true }, 'Q1', {}];
    for (const [index, each] of interrupts.entries())
      (each as { resolveInterrupt: (payload: unknown) => void }).resolveInterrupt(answers[index]);
    await eventually(() => client.getStatus() === 'ready' && types.includes('RUN_FINISHED'));
    expect(types).toEqual([
      ...[
        'RUN_STARTED',
        'TOOL_CALL_RESULT',
        'TEXT_MESSAGE_START',
        'TEXT_MESSAGE_CONTENT',
        'TEXT_MESSAGE_END',
      ],
      'RUN_FINISHED',
    ]);
    expect([client.getInterrupts(), errors, cutter.requests]).toEqual([
      [],
      [],
      ['POST', 'POST 1', 'POST', 'POST 8'],
    ]);
    expect(partsOf(client)).toContain('Thanks');
  });

  it('executes its tools', async () => {
    const location = toolDefinition({ name: 'location', description: 'Where?' }).client(() => ({ lat: 1 }));
    const { client, errors } = clientOf('tools', { tools: [location] as never });
    await client.sendMessage('asks tools');
    await eventually(() => partsOf(client).includes('Thanks'));
    expect(partsOf(client)).toContain('"output":{"lat":1}');
    expect([errors, cutter.requests]).toEqual([[], ['POST', 'POST']]);
  });

  it('joins a run after a reload of its page, and asks a message again', async () => {
    const { client, types } = clientOf('reloads');
    void client.sendMessage('endless');
    await eventually(() => types.includes('TEXT_MESSAGE_CONTENT'));
    const runId = client.getCurrentRunId()!;
    const messages = client.getMessages();
    client.detach();

    const { client: reloaded, types: seen } = clientOf('reloads', {
      initialMessages: messages,
      initialResumeSnapshot: { resumeState: { threadId: 'reloads', runId }, pendingInterrupts: [] },
    } as never);
    reloaded.attach();
    await eventually(() => seen.includes('TEXT_MESSAGE_CONTENT'));
    expect(cutter.requests).toEqual(['GET']);
    expect(partsOf(reloaded)).toContain('Hello');
    const { active } = await host.agent.session('anonymous', 'reloads', 0, 1);
    await host.agent.cancel('anonymous', active!);
    await eventually(() => seen.includes('RUN_FINISHED'));

    const { client: again } = clientOf('again');
    await again.sendMessage('short');
    await again.reload();
    expect(partsOf(again)).toBe('[{"type":"text","content":"Hello"}]');
    expect((await host.agent.session('anonymous', 'again', 0, 10)).turns).toHaveLength(1);
  });
});
