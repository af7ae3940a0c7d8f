import type { Message, Part, Task } from '@a2a-js/sdk-0.3';
import { AgentCard } from '@a2a-js/sdk';
import { type Client, ClientFactory, ClientFactoryOptions } from '@a2a-js/sdk-0.3/client';
import { file, fileBytes, message, QueryError, result } from 'nest-agent-query';
import { startA2a, textOf } from '../../../test/protocols/a2a-host.js';
import { eventually } from '../../../test/support/conditions.js';
import { describeOnOneAdapter, type Host } from '../../../test/support/host.js';

type StreamEvent =
  ReturnType<Client['sendMessageStream']> extends AsyncGenerator<infer Event> ? Event : never;

let messages = 0;

/** A request that sends a text. */
const asking = (text: string, more: Partial<Message> = {}, blocking = true) => ({
  message: {
    ...{ kind: 'message' as const, messageId: `m${++messages}`, role: 'user' as const },
    parts: [{ kind: 'text' as const, text }],
    ...more,
  },
  configuration: { blocking },
});

const textsOf = ({ artifacts = [] }: Task) =>
  artifacts.map(({ parts }) =>
    parts.map((part) => (part.kind === 'text' ? part.text : JSON.stringify(part))).join(''),
  );

/** The task as a client builds it of the events of a stream. */
function built(events: StreamEvent[]): Task {
  const [task, ...rest] = structuredClone(events);
  if (task?.kind !== 'task') throw new Error('The stream does not begin with a task.');
  task.artifacts ??= [];
  for (const event of rest) {
    if (event.kind === 'status-update') task.status = event.status;
    if (event.kind !== 'artifact-update') continue;
    const known = task.artifacts.find(({ artifactId }) => artifactId === event.artifact.artifactId);
    if (known && event.append) known.parts.push(...event.artifact.parts);
    else if (known) known.parts = event.artifact.parts;
    else task.artifacts.push(event.artifact);
  }
  return task;
}

async function all(stream: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

describeOnOneAdapter('The official client of A2A 0.3 with %s', (adapter) => {
  let host: Host;
  let client: Client;
  let goOn: () => void;
  let runs: number;
  let refuses: QueryError | undefined;
  beforeEach(async () => {
    runs = 0;
    refuses = undefined;
    const waits = new Promise<void>((resolve) => (goOn = resolve));
    host = await startA2a(
      adapter,
      async function* (query, context) {
        runs++;
        yield message('Hel');
        yield message('lo');
        switch (textOf(query)) {
          case 'ask': {
            const [answer] = await context.ask([{ key: 'name', kind: 'input', message: 'Your name?' }]);
            yield message(`, ${answer!.value as string}`);
            break;
          }
          case 'wait':
            await Promise.race([waits, new Promise((r) => context.signal.addEventListener('abort', r))]);
            break;
          case 'fail':
            throw new QueryError('upstream', 'The model refuses.', { status: 502 });
          case 'file': {
            const [, given] = query.parts;
            const content = given?.type === 'file' ? await fileBytes(given) : Buffer.from('none');
            yield file({ name: 'b.txt', mimeType: 'text/plain', content });
            break;
          }
          case 'turns':
            yield message(` ${context.history.length}`);
        }
        yield message('!');
        yield result({ answer: 42 });
      },
      {
        owner: () => {
          if (refuses) throw refuses;
          return 'anonymous';
        },
      },
    );
    client = await new ClientFactory().createFromUrl(host.url);
  });
  afterEach(async () => {
    goOn();
    await host.idle();
    await host.close();
  });
  const send = async (...parameters: Parameters<typeof asking>) =>
    (await client.sendMessage(asking(...parameters))) as Task;

  it('reads the card', async () => {
    const card = await client.getAgentCard();
    expect([card.name, card.protocolVersion, card.preferredTransport, card.url]).toEqual([
      ...['agent', '0.3.0', 'JSONRPC', `${host.url}/a2a`],
    ]);
    // Its REST is another one, which the service does not have: the client takes JSON-RPC.
    const options = { ...ClientFactoryOptions.default, preferredTransports: ['HTTP+JSON'] };
    const other = await new ClientFactory(options).createFromUrl(host.url);
    expect(await other.sendMessage(asking('Hi'))).toMatchObject({ status: { state: 'completed' } });
  });

  it('reads the security schemes of a card, as those of 1.0 do', async () => {
    const securitySchemes = { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } };
    const secured = await startA2a(adapter, async function* () {}, {}, { card: { securitySchemes } });
    const old = await (await new ClientFactory().createFromUrl(secured.url)).getAgentCard();
    expect([old.securitySchemes!['bearer'], old.security]).toEqual([
      { httpAuthSecurityScheme: { scheme: 'Bearer' }, type: 'http', scheme: 'Bearer' },
      [{ bearer: [] }],
    ]);
    const card = await fetch(`${secured.url}/.well-known/agent-card.json`);
    const { securitySchemes: read, securityRequirements } = AgentCard.fromJSON(await card.json());
    expect(read['bearer']!.scheme).toMatchObject({
      $case: 'httpAuthSecurityScheme',
      value: { scheme: 'Bearer' },
    });
    expect(securityRequirements[0]!.schemes).toHaveProperty('bearer');
    await secured.close();
  });

  it('sends a message, and gets its task', async () => {
    const task = await send('Hi');
    expect(task.status.state).toBe('completed');
    expect(textsOf(task)).toEqual(['Hello!', '{"kind":"data","data":{"answer":42}}']);
    expect(await client.getTask({ id: task.id })).toEqual(task);
  });

  it('streams a task, whose events are the task', async () => {
    const events = await all(client.sendMessageStream(asking('Hi')));
    const task = built(events);
    expect(textsOf(task)).toEqual(textsOf(await client.getTask({ id: task.id })));
    expect(events.at(-1)).toMatchObject({
      kind: 'status-update',
      status: { state: 'completed' },
      final: true,
    });
    expect(events.filter((event) => event.kind === 'status-update' && event.final).length).toBe(1);
  });

  it('subscribes again after a cut, and loses nothing', async () => {
    const before: StreamEvent[] = [];
    for await (const event of client.sendMessageStream(asking('wait'))) {
      before.push(event);
      if (event.kind === 'artifact-update') break;
    }
    const { id } = built(before);
    await eventually(async () => textsOf(await client.getTask({ id }))[0] === 'Hello');
    const again = all(client.resubscribeTask({ id }));
    await eventually(() => host.agent.load().followers > 0);
    goOn();
    const task = built(await again);
    expect(textsOf(task)[0]).toBe('Hello!');
    const [late] = await all(client.resubscribeTask({ id }));
    expect(late).toMatchObject({ kind: 'task', status: { state: 'completed' } });
    expect(runs).toBe(1);
  });

  it('cancels a task in the middle of its stream', async () => {
    const events: StreamEvent[] = [];
    for await (const event of client.sendMessageStream(asking('wait'))) {
      events.push(event);
      if (event.kind === 'artifact-update' && !event.lastChunk && !event.append)
        await client.cancelTask({ id: built(events).id });
    }
    expect(events.at(-1)).toMatchObject({ status: { state: 'canceled' }, final: true });
  });

  it('answers what a task asks', async () => {
    const task = await send('ask');
    expect(task.status.state).toBe('input-required');
    expect(task.status.message!.parts[0]).toEqual({ kind: 'text', text: 'Your name?' });
    const answered = await send('Ada', { taskId: task.id, contextId: task.contextId });
    expect(textsOf(answered).slice(0, 2)).toEqual(['Hello', ', Ada!']);
    const stream = built(await all(client.sendMessageStream(asking('ask'))));
    const rest = await all(client.sendMessageStream(asking('Eve', { taskId: stream.id })));
    expect(textsOf(built(rest)).slice(0, 2)).toEqual(['Hello', ', Eve!']);
  });

  it('sends a file, and gets one', async () => {
    const given = { bytes: 'YQ==', name: 'a.txt', mimeType: 'text/plain' };
    const parts: Part[] = [
      { kind: 'text', text: 'file' },
      { kind: 'file', file: given },
    ];
    const { artifacts } = await send('', { parts });
    const [part] = artifacts!.find(({ name }) => name === 'b.txt')!.parts;
    if (part?.kind !== 'file' || !('uri' in part.file)) throw new Error('The artifact is no file.');
    expect(part.file).toMatchObject({ name: 'b.txt', mimeType: 'text/plain' });
    expect(await (await fetch(part.file.uri)).text()).toBe('a');
  });

  it('has the turns before in the same context', async () => {
    const { contextId } = await send('Hi');
    expect(textsOf(await send('turns', { contextId }))[0]).toBe('Hello 1!');
  });

  it('shows why a task has failed', async () => {
    const sentence = { parts: [{ kind: 'text', text: 'The model refuses.' }] };
    expect((await send('fail')).status).toMatchObject({ state: 'failed', message: sentence });
    const events = await all(client.sendMessageStream(asking('fail')));
    expect(events.at(-1)).toMatchObject({ status: { state: 'failed', message: sentence }, final: true });
    expect(runs).toBe(2);
  });

  it('gets errors as its own', async () => {
    await expect(client.getTask({ id: 'none' })).rejects.toMatchObject({
      errorResponse: { error: { code: -32001, message: 'There is no such task, or it is no longer kept.' } },
    });
    const { id } = await send('Hi');
    await expect(client.cancelTask({ id })).rejects.toMatchObject({
      errorResponse: { error: { code: -32002 } },
    });
    await expect(all(client.resubscribeTask({ id: 'none' }))).rejects.toThrow(
      /There is no such task.*-32001/,
    );
    await expect(all(client.sendMessageStream(asking('', { parts: [] })))).rejects.toThrow(
      /at least one part/,
    );
  });

  it.each([401, 429, 503])(
    'shows the sentence of a refusal with the status %i, and asks once',
    async (status) => {
      refuses = new QueryError('closed_today', 'Come another day.', { status });
      await expect(client.sendMessage(asking('Hi'))).rejects.toThrow('Come another day.');
      await expect(all(client.sendMessageStream(asking('Hi')))).rejects.toThrow(`${status}`);
      await expect(all(client.sendMessageStream(asking('Hi')))).rejects.toThrow('Come another day.');
      expect(runs).toBe(0);
      refuses = undefined;
    },
  );
});
