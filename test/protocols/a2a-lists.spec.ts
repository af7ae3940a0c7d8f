import { jest } from '@jest/globals';
import { MemoryRunStore, message } from '../../src/index.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';
import {
  BINDINGS,
  Client,
  echo,
  jsonRpc,
  messageOf,
  rest,
  startA2a,
  type TaskJson,
  textsOf,
} from './a2a-host.js';

interface Page {
  tasks: TaskJson[];
  nextPageToken: string;
  pageSize: number;
  totalSize: number;
}

describeOnOneAdapter('The tasks of A2A on %s', (adapter) => {
  let host: Host;
  const sent: TaskJson[] = [];
  beforeAll(async () => {
    host = await startA2a(adapter, echo);
    const client = new Client(host.url, rest);
    for (const [index, contextId] of ['a', 'b', 'a', 'b', 'a'].entries()) {
      sent.push(await client.send(`Text ${index}`, { contextId }));
      // The next one has a later time.
      const { timestamp } = sent.at(-1)!.status;
      await eventually(() => new Date().toISOString() > timestamp!);
    }
  });
  afterAll(() => host.close());
  const newestFirst = () => sent.map(({ id }) => id).reverse();

  describe.each(BINDINGS)('through $name', (binding) => {
    let client: Client;
    beforeAll(() => {
      client = new Client(host.url, binding);
    });
    const page = (params = {}) => client.result<Page>('ListTasks', params);
    const idsOf = ({ tasks }: Page) => tasks.map(({ id }) => id);

    it('are listed, those whose status is newest first [CORE-LIST-003 CORE-LIST-004]', async () => {
      const all = await page();
      expect(idsOf(all)).toEqual(newestFirst());
      expect({ ...all, tasks: [] }).toEqual({ tasks: [], nextPageToken: '', pageSize: 50, totalSize: 5 });
    });

    it('have no artifacts and no history unless these are asked for [CORE-LIST-005]', async () => {
      const [task] = (await page()).tasks;
      expect(Object.keys(task!)).toEqual(['id', 'contextId', 'status']);
      const [whole] = (await page({ includeArtifacts: true, historyLength: 1 })).tasks;
      expect(textsOf(whole!)).toEqual(['Text 4']);
      expect(whole!.history!.map(({ parts }) => parts)).toEqual([[{ text: 'Text 4' }]]);
    });

    it('are read in pages [CORE-LIST-002]', async () => {
      const pages: Page[] = [];
      for (
        let pageToken = '';
        pages.length === 0 || pageToken !== '';
        pageToken = pages.at(-1)!.nextPageToken
      )
        pages.push(await page({ pageSize: 2, pageToken }));
      expect(pages.map(({ tasks }) => tasks.length)).toEqual([2, 2, 1]);
      expect(pages.map(({ totalSize, pageSize }) => [totalSize, pageSize])).toEqual([
        [5, 2],
        [5, 2],
        [5, 2],
      ]);
      expect(pages.flatMap(idsOf)).toEqual(newestFirst());
    });

    it('are found by their context, their state and their time', async () => {
      expect(idsOf(await page({ contextId: 'b' }))).toEqual([sent[3]!.id, sent[1]!.id]);
      expect(idsOf(await page({ status: 'TASK_STATE_COMPLETED', contextId: 'b' }))).toHaveLength(2);
      expect(idsOf(await page({ status: 'TASK_STATE_UNSPECIFIED' }))).toHaveLength(5);
      for (const status of ['TASK_STATE_REJECTED', 'TASK_STATE_WORKING', 'TASK_STATE_FAILED'])
        expect(await page({ status })).toMatchObject({ tasks: [], totalSize: 0 });
      const { timestamp } = sent[3]!.status;
      expect(idsOf(await page({ statusTimestampAfter: timestamp }))).toEqual([sent[4]!.id, sent[3]!.id]);
      const [year10000, year0] = ['9999-12-31T23:59:59-23:59', '0000-01-01T00:00:00+23:59'];
      expect(idsOf(await page({ statusTimestampAfter: year10000 }))).toEqual([]);
      expect(idsOf(await page({ statusTimestampAfter: year0 }))).toHaveLength(5);
      expect(idsOf(await page({ contextId: 'none' }))).toEqual([]);
    });

    it('are not listed by what is not valid [HTTP_JSON-QP-001]', async () => {
      const { fields } = await client.error('ListTasks', {
        ...{ pageSize: 150, historyLength: -5, status: 'TASK_STATE_RUNNING', pageToken: 'x' },
        ...{ statusTimestampAfter: 'yesterday', includeArtifacts: 'perhaps' },
      });
      expect(fields.sort()).toEqual([
        'historyLength must be a whole number from 0',
        'includeArtifacts must be true or false',
        'pageSize must be a whole number from 1 to 100',
        'pageToken must be "nextPageToken" of the page before',
        'status must be one of TASK_STATE_SUBMITTED, TASK_STATE_WORKING, TASK_STATE_INPUT_REQUIRED, TASK_STATE_AUTH_REQUIRED, ' +
          'TASK_STATE_COMPLETED, TASK_STATE_FAILED, TASK_STATE_CANCELED, TASK_STATE_REJECTED',
        'statusTimestampAfter must be a time of ISO 8601, such as 2026-11-25T10:00:00Z',
      ]);
      expect((await client.error('ListTasks', { pageSize: 0 })).fields).toHaveLength(1);
      const pageToken = Buffer.from('2026-13-45T00:00:00.000Z run').toString('base64url');
      expect((await client.error('ListTasks', { pageToken })).fields).toEqual([
        'pageToken must be "nextPageToken" of the page before',
      ]);
    });

    it('are got by their ids, with as much history as is asked for [CORE-GET-001 CORE-GET-002 CORE-HIST-001 CORE-HIST-002 CORE-HIST-003]', async () => {
      const [task] = sent;
      expect(await client.get(task!.id)).toEqual(task);
      expect((await client.get(task!.id, { historyLength: 1 })).history).toHaveLength(1);
      expect(await client.get(task!.id, { historyLength: 0 })).not.toHaveProperty('history');
      const without = { configuration: { historyLength: 0 } };
      expect(
        await client.result('SendMessage', { message: messageOf('x', { contextId: 'z' }), ...without }),
      ).not.toHaveProperty('task.history');
      await host.agent.erase('anonymous', 'z');
      expect(await client.error('GetTask', { id: 'tck-nonexistent' })).toMatchObject({
        reason: 'TASK_NOT_FOUND',
      });
      expect((await client.error('GetTask', { id: task!.id, historyLength: 'x' })).fields).toEqual([
        'historyLength must be a whole number from 0',
      ]);
    });
  });

  it('without an id are asked for in vain', async () => {
    const client = new Client(host.url, jsonRpc);
    for (const method of ['GetTask', 'CancelTask', 'SubscribeToTask'])
      expect((await client.error(method, {})).fields).toEqual(['id must be present: the id of a task']);
  });

  it('are moved up by their states', async () => {
    const agent = new ScriptedAgent();
    const other = await startA2a(adapter, agent.handler);
    const client = new Client(other.url, rest);
    const begin = () => client.send('Hi', {}, { configuration: { returnImmediately: true } });
    const first = await begin();
    const call = await agent.call(1);
    const second = await begin();
    (await agent.call(2)).finish();
    await eventually(async () => (await client.get(second.id)).status.state === 'TASK_STATE_COMPLETED');
    const { timestamp } = (await client.get(second.id)).status;
    await eventually(() => new Date().toISOString() > timestamp!);
    const listed = async () => (await client.result<Page>('ListTasks')).tasks.map(({ id }) => id);
    expect(await listed()).toEqual([second.id, first.id]);
    call.emit(message('Done'));
    call.finish();
    await other.idle();
    expect(await listed()).toEqual([first.id, second.id]);
    await other.close();
  });

  it('are read as far as the page has them, if they have ended', async () => {
    const read: number[] = [];
    class ObservedStore extends MemoryRunStore {
      override async endedRuns(...given: Parameters<MemoryRunStore['endedRuns']>) {
        const ended = await super.endedRuns(...given);
        read.push(ended.runs.length);
        return ended;
      }

      override runs(...given: Parameters<MemoryRunStore['runs']>) {
        if (given[1].status === undefined) throw new Error('Not all runs are needed.');
        return super.runs(...given);
      }
    }
    const store = new ObservedStore();
    const askedOf = jest.spyOn(store.inputs, 'of');
    const agent = new ScriptedAgent();
    const other = await startA2a(adapter, agent.handler, { store });
    const client = new Client(other.url, rest);
    const begin = (contextId?: string) =>
      client.send('Hi', contextId === undefined ? {} : { contextId }, {
        configuration: { returnImmediately: true },
      });
    for (let count = 1; count <= 8; count++) {
      await begin();
      (await agent.call(count)).finish();
    }
    await other.idle();
    const running = await begin('queue');
    await agent.call(9);
    const waiting = await begin('queue');
    askedOf.mockClear();
    const { tasks, ...page } = await client.result<Page>('ListTasks', { pageSize: 3 });
    expect(
      tasks
        .map(({ id }) => id)
        .slice(0, 2)
        .sort(),
    ).toEqual([running.id, waiting.id].sort());
    expect(page).toMatchObject({ pageSize: 3, totalSize: 10 });
    const next = { pageSize: 3, pageToken: page.nextPageToken };
    expect((await client.result<Page>('ListTasks', next)).tasks).toHaveLength(3);
    expect(read).toEqual([3, 3]);
    // What has not started has asked nothing.
    expect(new Set(askedOf.mock.calls.map(([{ id }]) => id))).toEqual(new Set([running.id]));
    (await agent.call(9)).finish();
    (await agent.call(10)).finish();
    await other.close();
  });

  it('belong to their owner [CORE-LIST-001 AUTH-SCOPE-001 AUTH-SCOPE-002 AUTH-SCOPE-003]', async () => {
    const other = await startA2a(adapter, echo, {
      owner: (request) => request.headers['x-caller'] as string,
    });
    for (const binding of BINDINGS) {
      const ann = new Client(other.url, binding, { 'x-caller': 'ann' });
      const eve = new Client(other.url, binding, { 'x-caller': 'eve' });
      const { id, contextId } = await ann.send('Secret', { contextId: 'shared' });
      expect((await eve.send('Mine', { contextId: 'shared' })).contextId).toBe(contextId);
      const ids = async (client: Client) =>
        (await client.result<Page>('ListTasks', { contextId })).tasks.map((task) => task.id);
      expect(await ids(ann)).toContain(id);
      expect(await ids(eve)).not.toContain(id);
      const none = await eve.error('GetTask', { id: 'none' });
      for (const method of ['GetTask', 'CancelTask', 'SubscribeToTask'])
        expect(await eve.error(method, { id })).toEqual(none);
      expect(await eve.error('SendMessage', { message: messageOf('Hi', { taskId: id }) })).toEqual(none);
    }
    await other.close();
  });

  it('of other protocols are tasks too, also without a session', async () => {
    const stream = host.agent.query({ parts: [{ type: 'text', text: 'Plain' }], kwargs: {} });
    const { run } = await stream.admitted;
    await host.idle();
    const task = await new Client(host.url, rest).get(run!.id);
    expect(task).toMatchObject({
      id: run!.id,
      contextId: run!.id,
      status: { state: 'TASK_STATE_COMPLETED' },
    });
    expect(textsOf(task)).toEqual(['Plain']);
    expect(task.history).toBeUndefined();
  });
});
