import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type HandlerFunction,
  isApproved,
  message,
  type Question,
  toolCall,
  toolResult,
} from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import { assistant, chunksOf, runOf, sendChat, startChats, streamOf, user } from '../support/ai-sdk-chat.js';
import { asks, REFUND } from '../support/asking.js';
import { deferred } from '../support/conditions.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

const FORM: Question = {
  key: 'quarter',
  kind: 'input',
  message: 'Which quarter?',
  schema: { enum: ['Q1', 'Q2'] },
};
const OPEN: Question = {
  key: 'o',
  kind: 'tool',
  message: 'Open',
  toolCallId: 'call_o',
  name: 'open',
  arguments: 1,
};
const SIGN_IN: Question = { key: 'a', kind: 'auth', message: 'Sign in', url: 'https://example.com/login' };

const responded = (approved: boolean, more: object = {}) => ({
  type: 'tool-refund',
  toolCallId: 'call_9',
  state: 'approval-responded',
  // A client may send anything: these do not count.
  input: { customer: 1, amount: 1_000_000 },
  approval: { id: 'refund-881', approved, ...more },
});
const output = (toolCallId: string, value: unknown) => {
  return { type: 'tool-x', toolCallId, state: 'output-available', input: 'forged', output: value };
};

describeOnOneAdapter('A chat of the AI SDK whose run asks, on %s', (adapter) => {
  let agent: ScriptedAgent;
  let host: Host;
  const start = async (version: 6 | 7 = 6) => {
    agent = new ScriptedAgent();
    host = await startChats(adapter, agent.handler, {}, { aiSdk: { version } });
  };
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  /** Lets a run ask, and returns the stream that ends with the questions. */
  const asked = async (...questions: Question[]) => {
    const reply = await sendChat(host.url, [user('Hi')]);
    const call = await agent.callFor('Hi');
    const answers = asks(call, questions);
    const chunks = chunksOf(await reply.whole(), runOf(reply));
    return { call, answers, chunks, runId: runOf(reply) };
  };

  it('ends at the questions, and goes on with the answers as the same message', async () => {
    await start();
    const reply = await sendChat(host.url, [user('Hi')]);
    const call = await agent.callFor('Hi');
    call.emit(message('Wait.'), toolCall('call_9', 'refund', REFUND.arguments), toolCall('call_8', 'see'));
    call.emit(toolResult('call_8', 1));
    await reply.until('output-available');
    const answers = asks(call, [REFUND]);
    const runId = runOf(reply);
    const first = chunksOf(await reply.whole(), runId);
    expect(first.slice(5)).toEqual([
      '{"type":"tool-input-available","toolCallId":"call_9","toolName":"refund","input":{"customer":881,"amount":120}}',
      '{"type":"tool-input-available","toolCallId":"call_8","toolName":"see","input":{}}',
      '{"type":"tool-output-available","toolCallId":"call_8","output":1}',
      '{"type":"tool-approval-request","approvalId":"refund-881","toolCallId":"call_9"}',
      '{"type":"finish-step"}',
      '{"type":"finish","finishReason":"tool-calls"}',
      '[DONE]',
    ]);
    expect(chunksOf(await (await streamOf(host.url, 'c1')).whole(), runId)).toEqual(first);
    const answer = [user('Hi'), assistant(runId, output('call_8', 1), responded(true))];
    const goesOn = await sendChat(host.url, answer, { messageId: `msg_${runId}` });
    expect(await answers).toMatchObject([{ outcome: 'answered', value: { approved: true } }]);
    call.emit(toolResult('call_9', 'paid'), message('Done.'));
    await goesOn.until('Done.');
    const again = await sendChat(host.url, answer, { messageId: `msg_${runId}` });
    const whole = await streamOf(host.url, 'c1');
    await whole.until('Done.');
    call.finish();
    const second = [
      '{"type":"start","messageId":"msg_<run>"}',
      '{"type":"tool-output-available","toolCallId":"call_9","output":"paid"}',
      '{"type":"start-step"}',
      '{"type":"text-start","id":"text_8"}',
      '{"type":"text-delta","id":"text_8","delta":"Done."}',
      '{"type":"text-end","id":"text_8"}',
      '{"type":"finish-step"}',
      '{"type":"finish","finishReason":"stop"}',
      '[DONE]',
    ];
    expect(chunksOf(await goesOn.whole(), runId)).toEqual(second);
    expect(await again.whole()).toBe(await goesOn.whole());
    // Whoever reads the approved call again is not asked again. The other chunks have the same numbers.
    const approved = first.map((chunk) =>
      chunk.includes('tool-approval-request') ? '{"type":"message-metadata","messageMetadata":null}' : chunk,
    );
    expect(chunksOf(await whole.whole(), runId)).toEqual([...approved.slice(0, -2), ...second.slice(1)]);
    // The leg can be read again from each chunk, by the id that its response has.
    const leg = String(goesOn.headers['x-workflow-run-id']);
    for (const [index] of second.slice(0, -1).entries()) {
      const rest = await (await streamOf(host.url, leg, index)).whole();
      expect(chunksOf(rest, runId)).toEqual(second.slice(index));
    }
    expect(agent.calls).toHaveLength(1);
  });

  it.each([
    [6, []],
    [
      7,
      [
        '{"type":"tool-approval-response","toolCallId":"call_9","approvalId":"refund-881","approved":false,"reason":"No"}',
      ],
    ],
  ] as const)('tells a client of version %s of a refused call', async (version, response) => {
    await start(version);
    const { call, answers, chunks, runId } = await asked(REFUND);
    expect(chunks.slice(1, 4)).toEqual([
      '{"type":"start-step"}',
      '{"type":"tool-input-available","toolCallId":"call_9","toolName":"refund","input":{"customer":881,"amount":120}}',
      '{"type":"tool-approval-request","approvalId":"refund-881","toolCallId":"call_9"}',
    ]);
    const goesOn = await sendChat(host.url, [assistant(runId, responded(false, { reason: 'No' }))]);
    expect(await answers).toMatchObject([{ value: { approved: false, reason: 'No' } }]);
    call.finish();
    expect(chunksOf(await goesOn.whole(), runId)).toEqual([
      '{"type":"start","messageId":"msg_<run>"}',
      ...response,
      '{"type":"tool-output-denied","toolCallId":"call_9"}',
      '{"type":"start-step"}',
      '{"type":"data-done","data":{"status":"completed"}}',
      '{"type":"finish-step"}',
      '{"type":"finish","finishReason":"stop"}',
      '[DONE]',
    ]);
  });

  it('asks for values, for calls of the client and for sign-ins, as tools of the client', async () => {
    await start();
    const { call, answers, chunks, runId } = await asked(FORM, OPEN, SIGN_IN);
    expect(chunks.slice(1)).toEqual([
      '{"type":"start-step"}',
      '{"type":"tool-input-available","toolCallId":"quarter","toolName":"request_user_input","input":{"message":"Which quarter?","schema":{"enum":["Q1","Q2"]}}}',
      '{"type":"tool-input-available","toolCallId":"call_o","toolName":"open","input":1}',
      '{"type":"tool-input-available","toolCallId":"a","toolName":"request_auth","input":{"message":"Sign in","url":"https://example.com/login"}}',
      '{"type":"finish-step"}',
      '{"type":"finish","finishReason":"tool-calls"}',
      '[DONE]',
    ]);
    const refused = async (parts: object[], status: number, detail: string) => {
      const reply = await sendChat(host.url, [assistant(runId, ...parts)]);
      expect(reply.status).toBe(status);
      expect((await reply.json())['detail']).toEqual(detail);
    };
    await refused(
      [output('quarter', 'Q1')],
      400,
      '"/messages/0" must answer all that the run asks, at once: it has no answer to "o" and "a".',
    );
    const error = { type: 'tool-open', toolCallId: 'call_o', state: 'output-error', errorText: 'Blocked' };
    await refused(
      [error, output('quarter', 'Q3'), output('a', 'yes')],
      400,
      '"/messages/0/parts/1/output" must be one of ["Q1","Q2"].',
    );
    const message = assistant(runId, output('quarter', 'Q1'), error, output('a', 'yes'));
    const goesOn = await sendChat(host.url, [message]);
    expect(await answers).toMatchObject([
      { id: 'quarter', outcome: 'answered', value: 'Q1' },
      { id: 'o', outcome: 'answered', value: { content: 'Blocked', isError: true } },
      { id: 'a', outcome: 'answered', value: {} },
    ]);
    await refused(
      [error, output('quarter', 'Q2'), output('a', 'yes')],
      409,
      expect.stringContaining('The request "quarter" was answered at ') as never,
    );
    call.finish();
    expect(chunksOf(await goesOn.whole(), runId).slice(1, 4)).toEqual([
      '{"type":"tool-output-available","toolCallId":"quarter","output":"Q1"}',
      '{"type":"tool-output-error","toolCallId":"call_o","errorText":"Blocked"}',
      '{"type":"tool-output-available","toolCallId":"a","output":{}}',
    ]);
    await refused(
      [],
      409,
      'The run of this message waits for no answer. Send a message of the user, or read the stream of the chat.',
    );
    await refused([], 409, expect.any(String) as never);
  });

  it('keeps what a run asks from other owners', async () => {
    await start();
    const { call, runId } = await asked(REFUND);
    const headers = { 'x-caller': 'eve' };
    const reply = await sendChat(host.url, [assistant(runId, responded(true))], { headers });
    expect(reply.status).toBe(404);
    expect(await reply.json()).toMatchObject({ code: 'not_found' });
    expect((await streamOf(host.url, runId, 0, headers)).status).toBe(204);
    await host.agent.cancel('anonymous', runId);
    await call.stopped;
  });
});

describeOnOneAdapter('A chat of the AI SDK whose run is executed again, on %s', (adapter) => {
  let directory: string;
  let host: Host;
  beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'chats-'))));
  afterEach(async () => {
    await host.idle();
    await host.close();
    await rm(directory, { recursive: true });
  });
  const start = async (handler: HandlerFunction, version: 6 | 7 = 6) => {
    const store = await openStore(`file:${join(directory, 'runs.db')}`);
    host = await startChats(adapter, handler, { store }, { aiSdk: { version } });
  };

  it('goes on after an answer that comes after a restart of the service', async () => {
    const handler: HandlerFunction = async function* (_, context) {
      if (!context.resumed) yield toolCall('call_9', 'refund', REFUND.arguments);
      const [answer] = await context.ask([REFUND], { checkpoint: 1 });
      yield toolResult('call_9', isApproved(answer) ? 'paid' : 'not paid');
      yield message('Done.');
    };
    await start(handler);
    const reply = await sendChat(host.url, [user('Hi')]);
    await reply.whole();
    const runId = runOf(reply);
    await host.close();
    await start(handler);
    const goesOn = await sendChat(host.url, [user('Hi'), assistant(runId, responded(true))]);
    expect(chunksOf(await goesOn.whole(), runId)).toEqual([
      '{"type":"start","messageId":"msg_<run>"}',
      '{"type":"tool-output-available","toolCallId":"call_9","output":"paid"}',
      '{"type":"start-step"}',
      expect.stringContaining('text-start'),
      expect.stringContaining('"delta":"Done."'),
      expect.stringContaining('text-end'),
      '{"type":"finish-step"}',
      '{"type":"finish","finishReason":"stop"}',
      '[DONE]',
    ]);
  });

  /** Emits a call with its result, a checkpoint and a text, and waits; the next attempt goes on from the checkpoint. */
  const restartable = (gate: Promise<void>): HandlerFunction =>
    Object.assign(
      async function* (...[, context]: Parameters<HandlerFunction>) {
        if (!context.resumed) {
          yield toolCall('c1', 'search');
          yield toolResult('c1', 1);
          await context.checkpoint(1);
          yield message('void');
          await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
        } else {
          await gate;
          yield message('valid');
        }
      } as HandlerFunction,
      { restarts: 1 },
    );
  const BEFORE = [
    '{"type":"start","messageId":"msg_<run>"}',
    '{"type":"start-step"}',
    '{"type":"tool-input-available","toolCallId":"c1","toolName":"search","input":{}}',
    '{"type":"tool-output-available","toolCallId":"c1","output":1}',
    '{"type":"finish-step"}',
    '{"type":"start-step"}',
  ];
  const VOID = ['{"type":"text-start","id":"text_3"}', '{"type":"text-delta","id":"text_3","delta":"void"}'];
  const AFTER = [
    '{"type":"text-start","id":"text_5"}',
    '{"type":"text-delta","id":"text_5","delta":"valid"}',
    '{"type":"text-end","id":"text_5"}',
    '{"type":"finish-step"}',
    '{"type":"finish","finishReason":"stop"}',
    '[DONE]',
  ];

  it.each([
    [6, [...BEFORE, ...AFTER]],
    [7, [...BEFORE, ...VOID, '{"type":"reset-step"}', ...AFTER]],
  ] as const)(
    'leaves out for a client of version %s what a restart has made void',
    async (version, chunks) => {
      const gate = deferred();
      const handler = restartable(gate.promise);
      await start(handler, version);
      const reply = await sendChat(host.url, [user('Hi')]);
      await reply.until('"void"');
      const runId = runOf(reply);
      await host.close();
      // What was cut has neither `finish` nor `[DONE]`: clients resume.
      expect(chunksOf(reply.text, runId)).toEqual([...BEFORE, ...VOID]);
      await start(handler, version);
      const whole = await streamOf(host.url, 'c1');
      gate.resolve();
      expect(chunksOf(await whole.whole(), runId)).toEqual(chunks);
      const rest = await streamOf(host.url, runId, BEFORE.length + VOID.length);
      if (version === 7) expect(chunksOf(await rest.whole(), runId)).toEqual(chunks.slice(-AFTER.length - 1));
      else expect(await rest.json()).toMatchObject({ status: 410, code: 'cursor_expired' });
    },
  );
});
