import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TaskState } from '@a2a-js/sdk';
import { type Envelope, QueryError } from 'nest-agent-query';
import { openStore } from 'nest-agent-query/stores';
import { type ContextInput, contextOf, queryOf } from 'nest-agent-query/testing';
import { deferred } from '../../../test/support/conditions.js';
import { ask, follow, FULL } from '../../../test/support/client.js';
import { ONE_ADAPTER, startAgent } from '../../../test/support/host.js';
import { a2aHandler } from '../src/index.js';
import { answering, joined, outcomeOf, validOf } from './outcomes.js';
import { part, ReferenceAgent, type ScriptedTask, text } from './reference-agent.js';

const SAID = (content: string) => ({ type: 'message', data: { id: 'a', content } });

describe('A task that an earlier attempt has begun', () => {
  let reference: ReferenceAgent;

  beforeEach(async () => {
    reference = await ReferenceAgent.start();
  });
  afterEach(() => reference.stop());

  const handler = () => a2aHandler({ url: reference.url, patienceMs: 500 });

  /** A script that goes on when it is told to. */
  function gated(...pieces: ((task: ScriptedTask) => void)[]): (() => void)[] {
    const gates = pieces.map(() => deferred());
    reference.script = async (task) => {
      task.begin();
      for (const [index, piece] of pieces.entries()) {
        piece(task);
        await gates[index]!.promise;
      }
      task.complete();
    };
    return gates.map((gate) => () => gate.resolve());
  }

  /** Reads until there are so many envelopes, and then loses the process. Returns what it has stored. */
  async function lostAfter(
    count: number,
    runId: string,
  ): Promise<{ envelopes: Envelope[]; states: unknown[] }> {
    const context = await contextOf({ runId });
    const answer = handler().handle(await queryOf('Hello'), context) as AsyncIterable<Envelope>;
    const iterator = answer[Symbol.asyncIterator]();
    const envelopes: Envelope[] = [];
    while (envelopes.length < count) envelopes.push((await iterator.next()).value as Envelope);
    await iterator.return!();
    return { envelopes, states: context.checkpoints };
  }

  const resumed = async (state: unknown, input: ContextInput = {}) =>
    outcomeOf(handler(), await contextOf({ ...input, resumed: { attempt: 2, state } }));

  it('is followed in the middle: only what is new comes', async () => {
    const gates = gated(
      (task) => task.artifact('a', [text('One, 😀')]),
      (task) => task.artifact('a', [text(' two')], true),
      (task) => task.artifact('b', [part({ $case: 'data', value: 1 })]),
    );
    const answer = handler().handle(await queryOf('x'), await contextOf());
    const iterator = (answer as AsyncIterable<Envelope>)[Symbol.asyncIterator]();
    expect((await iterator.next()).value).toEqual(SAID('One, 😀'));
    await iterator.return!();
    // As a checkpoint has it after this envelope.
    const [task] = (await tasksOf(reference)) as [{ id: string }];
    const digest = createHash('sha256').update('One, 😀', 'utf16le').digest('base64url');
    const state = {
      task: task.id,
      artifacts: {
        a: [
          [7, digest],
          [0, ''],
        ],
      },
      hasResult: false,
    };
    const going = resumed(state);
    await reference.called(/SubscribeToTask/);
    for (const open of gates) open();
    const { envelopes, failure } = await going;
    expect(failure).toBeUndefined();
    expect(joined(envelopes)).toEqual([SAID(' two'), { type: 'result', data: { value: 1 } }]);
    expect(reference.messages).toHaveLength(1);
  });

  it('is found by its message, if the process was lost before it had its name', async () => {
    const [open] = gated((task) => task.artifact('a', [text('All of it')]));
    const { states } = await lostAfter(1, 'lost');
    expect(states[0]).toEqual({ isSent: true });
    const going = resumed(states[0], { runId: 'lost' });
    await reference.called(/ListTasks/);
    open!();
    expect(await going).toEqual({ envelopes: [SAID('All of it')] });
    expect(reference.messages).toHaveLength(1);
  });

  it.each<[string, unknown]>([
    ['that no task has', { isSent: true }],
    ['of a task that is gone', { task: 'gone', artifacts: {}, hasResult: false }],
  ])('is not begun again for a message %s', async (_, state) => {
    const { envelopes, failure } = await resumed(state);
    expect([envelopes, (failure as QueryError).code]).toEqual([[], 'interrupted']);
    expect(reference.messages).toEqual([]);
  });

  it('is begun by an attempt before which nothing was sent', async () => {
    reference.script = (task) => task.reply([text('.')]);
    expect((await resumed(undefined)).failure).toBeUndefined();
    expect(reference.messages).toHaveLength(1);
  });

  it('that answers otherwise than before is interrupted', async () => {
    const [open] = gated((task) => task.artifact('a', [text('One')]));
    await lostAfter(1, 'run');
    const [task] = (await tasksOf(reference)) as [{ id: string }];
    for (const passed of [
      [3, 'another'],
      [9, 'longer'],
    ]) {
      const going = resumed({ task: task.id, artifacts: { a: [passed, [0, '']] }, hasResult: false });
      if (passed[0] === 9) open!();
      const { envelopes, failure } = await going;
      expect([envelopes, (failure as QueryError).code]).toEqual([[], 'interrupted']);
    }
  });

  it('that has lost what was passed on is interrupted', async () => {
    const [open] = gated((task) => task.artifact('a', [text('One')]));
    await lostAfter(1, 'run');
    const [task] = (await tasksOf(reference)) as [{ id: string }];
    const none = [0, ''];
    const { failure } = await resumed({ task: task.id, artifacts: { b: [none, none] }, hasResult: false });
    expect((failure as QueryError).code).toBe('interrupted');
    open!();
  });

  it('gets an answer once, whether the answer was lost or the response to it', async () => {
    for (const isLost of [true, false]) {
      reference.messages.length = 0;
      reference.script = (task) => {
        task.begin();
        if (!task.isAnswer) return task.status(TaskState.TASK_STATE_INPUT_REQUIRED, [text('Which?')]);
        task.artifact('a', task.message.parts);
        task.complete();
      };
      const first = answering(await contextOf({ runId: `asks-${isLost}` }), 'Q2');
      let sends = 0;
      reference.instead = ({ body }, response) => {
        if ((body as { method?: string } | undefined)?.method !== 'SendStreamingMessage' || ++sends !== 2)
          return false;
        // The response is lost; the answer too, or not.
        response.socket!.destroy();
        return isLost;
      };
      const { envelopes, failure } = await outcomeOf(handler(), first);
      expect([isLost, failure, joined(envelopes)]).toEqual([isLost, undefined, [SAID('Q2')]]);
      expect(reference.messages).toHaveLength(2);
      reference.instead = () => false;
    }
  });

  it('gets an answer of an earlier attempt once', async () => {
    reference.script = (task) => {
      task.begin();
      if (!task.isAnswer) return task.status(TaskState.TASK_STATE_INPUT_REQUIRED, [text('Which?')]);
      task.artifact('a', task.message.parts);
      task.complete();
    };
    const context = answering(await contextOf({ runId: 'twice' }), 'Q2');
    await outcomeOf(handler(), context);
    for (const state of context.checkpoints.slice(1)) {
      const again = answering(await contextOf({ runId: 'twice', resumed: { attempt: 2, state } }), 'Q2');
      const { envelopes, failure } = await outcomeOf(handler(), again);
      expect([failure, joined(envelopes)]).toEqual([undefined, [SAID('Q2')]]);
    }
    expect(context.checkpoints.length).toBeGreaterThan(2);
    expect(reference.messages).toHaveLength(2);
  });

  it('goes on after a restart of the service, as its followers see it', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'a2a-'));
    const url = `file:${join(directory, 'runs.db')}`;
    const [open] = gated((task) => task.artifact('a', [text('Before. ')]));
    const before = await startAgent(ONE_ADAPTER, handler(), { store: await openStore(url) });
    const reply = await ask(before.url, 'x', { headers: FULL });
    await reply.until('Before.');
    await before.close();
    const after = await startAgent(ONE_ADAPTER, handler(), { store: await openStore(url) });
    await reference.called(/SubscribeToTask/);
    open!();
    const whole = await follow(after.url, reply.runId);
    const envelopes = await whole.allEnvelopes();
    const valid = validOf(envelopes).filter(({ type }) => type !== 'log');
    expect(joined(valid)).toEqual([SAID('Before. '), { type: 'done', data: { status: 'completed' } }]);
    expect(reference.messages.map(({ messageId }) => messageId)).toEqual([reply.runId]);
    await after.close();
    await rm(directory, { recursive: true });
  });
});

async function tasksOf({ origin }: ReferenceAgent): Promise<unknown[]> {
  const response = await fetch(`${origin}/a2a`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'A2A-Version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params: { pageSize: 10 } }),
  });
  return ((await response.json()) as { result: { tasks: unknown[] } }).result.tasks;
}
