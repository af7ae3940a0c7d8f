import { SendMessageRequest, type StreamResponse, type Task, TaskState } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  withA2AExtensions,
  ServiceParameters,
} from '@a2a-js/sdk/client';
import { message, result } from 'nest-agent-query';
import { CURSORS, startA2a, textOf } from '../../../test/protocols/a2a-host.js';
import { eventually } from '../../../test/support/conditions.js';
import { describeOnOneAdapter, type Host } from '../../../test/support/host.js';

const TENANT = { tenant: '' };
let messages = 0;

/** A request that sends a text, as the client has it. */
const asking = (text: string, more: object = {}, configuration: object = {}) =>
  SendMessageRequest.fromJSON({
    message: { messageId: `m${++messages}`, role: 'ROLE_USER', parts: [{ text }], ...more },
    configuration,
  });

const textsOf = ({ artifacts }: Task) =>
  artifacts.map(({ parts }) =>
    parts
      .map(({ content }) => (content?.$case === 'text' ? content.value : JSON.stringify(content?.value)))
      .join(''),
  );

/** The task as a client builds it of the events of a stream. */
function built(events: StreamResponse[]): Task {
  const [first, ...rest] = structuredClone(events).map(({ payload }) => payload!);
  if (first?.$case !== 'task') throw new Error('The stream does not begin with a task.');
  const task = first.value;
  for (const payload of rest) {
    if (payload.$case === 'statusUpdate') task.status = payload.value.status;
    if (payload.$case !== 'artifactUpdate') continue;
    const { artifact, append } = payload.value;
    const known = task.artifacts.find(({ artifactId }) => artifactId === artifact!.artifactId);
    if (known && append) known.parts.push(...artifact!.parts);
    else if (known) known.parts = artifact!.parts;
    else task.artifacts.push(artifact!);
  }
  return task;
}

async function all(stream: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const events: StreamResponse[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

describe.each(['JSONRPC', 'HTTP+JSON'])('The official client over %s', (transport) => {
  describeOnOneAdapter('with %s', (adapter) => {
    let host: Host;
    let client: Client;
    let goOn: () => void;
    beforeEach(async () => {
      const waits = new Promise<void>((resolve) => (goOn = resolve));
      host = await startA2a(adapter, async function* (query, context) {
        const text = textOf(query);
        yield message('Hel');
        yield message('lo');
        if (text === 'ask') {
          const [answer] = await context.ask([{ key: 'name', kind: 'input', message: 'Your name?' }]);
          yield message(`, ${answer!.value as string}`);
        }
        if (text === 'wait')
          await Promise.race([waits, new Promise((r) => context.signal.addEventListener('abort', r))]);
        yield message('!');
        yield result({ answer: 42 });
      });
      const options = { ...ClientFactoryOptions.default, preferredTransports: [transport] };
      client = await new ClientFactory(options).createFromUrl(host.url);
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
      expect([card.name, card.capabilities!.streaming]).toEqual(['agent', true]);
      expect(card.supportedInterfaces.map(({ protocolBinding, url }) => [protocolBinding, url])).toEqual([
        ['JSONRPC', `${host.url}/a2a`],
        ['HTTP+JSON', `${host.url}/a2a`],
      ]);
    });

    it('sends a message, and gets and lists its task', async () => {
      const task = await send('Hi');
      expect(task.status!.state).toBe(TaskState.TASK_STATE_COMPLETED);
      expect(textsOf(task)).toEqual(['Hello!', '{"answer":42}']);
      expect(await client.getTask({ ...TENANT, id: task.id })).toEqual(task);
      await send('Hi', { contextId: 'other' });
      const listed = await client.listTasks({
        ...{ ...TENANT, contextId: 'other', status: 0, pageToken: '', statusTimestampAfter: undefined },
      });
      expect([listed.totalSize, listed.nextPageToken, listed.tasks.length]).toEqual([1, '', 1]);
    });

    it('streams a task, whose events are the task', async () => {
      const events = await all(client.sendMessageStream(asking('Hi')));
      const task = built(events);
      const kept = await client.getTask({ ...TENANT, id: task.id });
      expect(textsOf(task)).toEqual(textsOf(kept));
      expect(task.status!.state).toBe(TaskState.TASK_STATE_COMPLETED);
    });

    it('subscribes again after a cut, and loses nothing', async () => {
      const before: StreamResponse[] = [];
      for await (const event of client.sendMessageStream(asking('wait'))) {
        before.push(event);
        if (event.payload?.$case === 'artifactUpdate') break;
      }
      const { id } = built(before);
      await eventually(async () => textsOf(await client.getTask({ ...TENANT, id }))[0] === 'Hello');
      const again = all(client.resubscribeTask({ ...TENANT, id }));
      await eventually(() => host.agent.load().followers > 0);
      goOn();
      expect(textsOf(built(await again))).toEqual(['Hello!', '{"answer":42}']);
    });

    it('resumes by the extension after any event', async () => {
      const extended = { serviceParameters: ServiceParameters.create(withA2AExtensions(CURSORS)) };
      const whole = await all(client.sendMessageStream(asking('Hi'), extended));
      const { id } = built(whole);
      for (let count = 0; count < whole.length; count++) {
        const headers = { ...extended.serviceParameters, 'Last-Event-ID': `${id}.${count}` };
        const rest = await all(client.resubscribeTask({ ...TENANT, id }, { serviceParameters: headers }));
        expect(rest).toEqual(whole.slice(count));
      }
    });

    it('cancels a task', async () => {
      const { id } = await send('wait', {}, { returnImmediately: true });
      const cancelled = await client.cancelTask({ ...TENANT, id, metadata: undefined });
      expect(cancelled.status!.state).toBe(TaskState.TASK_STATE_CANCELED);
    });

    it('answers what a task asks', async () => {
      const task = await send('ask');
      expect(task.status!.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
      expect(task.status!.message!.parts[0]!.content).toEqual({ $case: 'text', value: 'Your name?' });
      const answered = await send('Ada', { taskId: task.id, contextId: task.contextId });
      expect(textsOf(answered)).toEqual(['Hello', ', Ada!', '{"answer":42}']);
      const stream = built(await all(client.sendMessageStream(asking('ask'))));
      const rest = await all(client.sendMessageStream(asking('Eve', { taskId: stream.id })));
      expect(textsOf(built(rest))).toEqual(['Hello', ', Eve!', '{"answer":42}']);
    });

    it('gets errors as its own', async () => {
      await expect(client.getTask({ ...TENANT, id: 'none' })).rejects.toMatchObject({
        name: 'TaskNotFoundError',
        message: expect.stringContaining('There is no such task') as string,
      });
      const { id } = await send('Hi');
      await expect(client.cancelTask({ ...TENANT, id, metadata: undefined })).rejects.toMatchObject({
        name: 'TaskNotCancelableError',
      });
      await expect(all(client.resubscribeTask({ ...TENANT, id }))).rejects.toMatchObject({
        name: 'UnsupportedOperationError',
      });
    });
  });
});
