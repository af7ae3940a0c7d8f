import type { Envelope, InputRequest } from 'nest-agent-query';
import { lastOf, post, respond, startOpenAi, typesOf } from '../../../../test/protocols/openai-host.js';
import { promise } from '../../../../test/promises.js';
import {
  ask,
  cancel,
  envelopesOf,
  follow,
  FULL,
  type Reply,
  request,
} from '../../../../test/support/client.js';
import { eventuallyElsewhere } from '../../../../test/support/conditions.js';
import { IS_LONG } from '../../../../test/support/long-form.js';
import { describeOnOneAdapter, type Host, startAgent } from '../../../../test/support/host.js';
import { fromAcp } from '../../src/index.js';
import { dataOf, Scripted, textOf, toldBy } from '../scripted.js';

const doing = (...lines: string[]) => lines.map((line) => `DO ${line}`).join('\n');
const owner = (caller: { headers: Record<string, string> }) => caller.headers['x-caller'] ?? 'ann';
/** Agents that are cancelled. One that ends by itself is in `stopping.spec.ts` too. */
const STUBBORN = ['deaf;stays;holds', 'withdraws', ...(IS_LONG ? [''] : [])];

/** An agent gets the time to end in order. */
const runs = { stopDeadlineMs: 5_000 };

describeOnOneAdapter('An agent of ACP on %s', (adapter) => {
  let scripted: Scripted;
  let host: Host;
  beforeEach(() => (scripted = new Scripted()));
  afterEach(async () => {
    await host.close();
    await scripted.end();
  });

  const start = async (is = '', options = {}) => {
    host = await startAgent(adapter, fromAcp({ ...scripted.options(is), ...options }), { owner, runs });
  };
  const askIn = (text: string, caller = 'ann') =>
    ask(host.url, text, { headers: { ...FULL, 'x-caller': caller }, kwargs: { session_id: 's' } });
  const cancelOf = ({ runId }: Reply, caller: string) => {
    return { method: 'DELETE', path: `/query/${runId}`, headers: { 'x-caller': caller } };
  };
  const requestsIn = (text: string) => {
    const [{ requests }] = dataOf(envelopesOf(text), 'input_required') as [{ requests: InputRequest[] }];
    return requests;
  };
  /** Answers all that a run asks, and returns what follows. */
  const answer = async (asked: Reply, approved: boolean): Promise<Envelope[]> => {
    const answers = requestsIn(await asked.until('input_required')).map(({ id }) => {
      return { id, outcome: 'answered', value: { approved } };
    });
    const path = `/query/${asked.runId}/inputs`;
    const headers = { ...FULL, 'x-caller': 'ann' };
    return (await request(host.url, { path, headers }, JSON.stringify({ answers }))).allEnvelopes();
  };

  it(promise('acp.stream'), async () => {
    await start('ids');
    const plan = '[{"content":"Read","status":"completed"}]';
    const reply = await ask(host.url, doing('think Hm', 'say Hello', `plan ${plan}`, 'read none'));
    expect(await reply.whole()).toBe(
      [
        '{"type":"reasoning","data":{"content":"Hm","id":"thought-1"}}',
        '{"type":"message","data":{"content":"Hello","id":"message-1"}}',
        '{"type":"plan","data":{"entries":[{"content":"Read","status":"completed","priority":"medium"}]}}',
        '{"type":"tool_call","data":{"id":"call-1-1","name":"read","arguments":{"path":"none"},"title":"Read none","kind":"read"}}',
        '{"type":"tool_result","data":{"id":"call-1-1","content":"none is not there","isError":true}}',
        '{"type":"done","data":{"status":"completed"}}',
      ]
        .map((event) => `data: ${event}\n\n`)
        .join(''),
    );
  });

  it(promise('acp.approval', 'over HTTP'), async () => {
    await start();
    const asked = await askIn(doing('write notes.txt new', 'read notes.txt'));
    const text = await asked.until('input_required');
    expect(requestsIn(text)).toMatchObject([
      { id: 'call-1-1', kind: 'approval', message: 'Edit notes.txt', toolCallId: 'call-1-1', name: 'edit' },
    ]);
    expect(dataOf(envelopesOf(text), 'tool_call')).toMatchObject([
      { id: 'call-1-1', diffs: [{ path: 'notes.txt', oldText: null, newText: 'new' }] },
    ]);
    const after = await answer(asked, true);
    expect(JSON.stringify(dataOf(after, 'tool_result')[1])).toContain('new');
    expect(after.at(-1)!.data).toEqual({ status: 'completed' });
    const refused = await askIn(doing('write other.txt x', 'read other.txt'));
    const rest = await answer(refused, false);
    expect(dataOf(rest, 'tool_result').map(({ isError }) => isError)).toEqual([true, true]);
    expect(rest.at(-1)!.data).toEqual({ status: 'completed' });
  });

  it(promise('acp.approval', 'in the protocol of OpenAI'), async () => {
    host = await startOpenAi(adapter, fromAcp(scripted.options()), { runs });
    const asked = await respond(host.url, doing('write notes.txt new', 'read notes.txt'));
    const approval = asked.output.at(-1)!;
    expect(approval).toMatchObject({ type: 'mcp_approval_request', name: 'edit' });
    const decision = { type: 'mcp_approval_response', approval_request_id: approval.id, approve: true };
    const decided = await post(host.url, 'responses', { input: [decision], stream: true });
    const response = lastOf(await decided.whole());
    expect(response['status']).toBe('completed');
    expect(JSON.stringify(response.output)).toContain('new');
  });

  it.each(STUBBORN)(
    promise('acp.cancel', 'in mid-answer, while it asks, while a command runs: %s'),
    async (is) => {
      await start(`keeps;${is}`);
      for (const [script, sign] of [
        [doing('say Hello', 'hold'), 'Hello'],
        [doing('write made x'), 'input_required'],
      ] as const) {
        const reply = await askIn(script);
        await reply.until(sign);
        expect((await cancel(host.url, reply.runId)).status).toBe(200);
        expect(scripted.processes).toEqual([]);
        expect((await reply.allEnvelopes()).at(-1)!.data).toEqual({ status: 'cancelled' });
      }
      const asked = await askIn(doing('run sleep 1000'));
      const rest = answer(asked, true);
      await asked.until('input_resolved');
      await eventuallyElsewhere(() => scripted.processes.length > 1);
      expect((await cancel(host.url, asked.runId)).status).toBe(200);
      expect(scripted.processes).toEqual([]);
      const envelopes = await rest;
      expect(envelopes.at(-1)!.data).toEqual({ status: 'cancelled' });
      const after = await (await askIn(doing('say Here'))).allEnvelopes();
      expect(textOf(after)).toBe('Here');
    },
  );

  it(promise('acp.sessions'), async () => {
    await start();
    const told = async (what: string, caller: string) =>
      toldBy(await (await askIn(doing(`tell ${what}`), caller)).allEnvelopes()) as string;
    const home = await told('home', 'ann');
    expect(await told('prompts', 'ann')).toEqual(['DO tell home', 'DO tell prompts']);
    const ofBob = dataOf(
      await (await askIn(doing('tell home', 'tell prompts'), 'bob')).allEnvelopes(),
      'message',
    ).map(({ content }) => JSON.parse(content as string) as unknown);
    expect(ofBob).toEqual([expect.not.stringContaining(home), ['DO tell home\nDO tell prompts']]);
    const erased = { method: 'DELETE', path: '/query/sessions/s', headers: { 'x-caller': 'ann' } };
    expect((await request(host.url, erased)).status).toBe(204);
    expect(await told('prompts', 'ann')).toEqual(['DO tell prompts']);
  });

  it(promise('acp.processes', 'kept for the next turn'), async () => {
    await start('deaf;stays', { keepMs: 60_000, processes: 1 });
    const first = toldBy(await (await askIn(doing('tell pid'))).allEnvelopes());
    expect(toldBy(await (await askIn(doing('tell pid'))).allEnvelopes())).toBe(first);
    expect(scripted.processes).toEqual([first]);
    const bob = toldBy(await (await askIn(doing('tell pid'), 'bob')).allEnvelopes());
    expect(scripted.processes).toEqual([bob]);
    await host.close();
    expect(scripted.processes).toEqual([]);
  });

  it(promise('acp.processes', 'of several runs'), async () => {
    await start('', { processes: 1 });
    const held = await askIn(doing('say Hello', 'hold'));
    await held.until('Hello');
    const waiting = await askIn(doing('tell pid'), 'bob');
    await waiting.until('Waiting until another query has ended');
    const left = await askIn(doing('tell pid'), 'cid');
    await left.until('Waiting');
    expect((await request(host.url, cancelOf(left, 'cid'))).status).toBe(200);
    expect(scripted.processes.length).toBe(1);
    expect((await request(host.url, cancelOf(held, 'ann'))).status).toBe(200);
    expect(toldBy(await waiting.allEnvelopes())).toEqual(expect.any(Number));
  });

  it(promise('acp.failures', 'in the protocol of OpenAI'), async () => {
    host = await startOpenAi(adapter, fromAcp(scripted.options()), { runs });
    const failure = '{"code":500,"message":"terminated"}';
    const input = doing('say Hel', `fail ${failure}`);
    const stream = await (await post(host.url, 'responses', { input, stream: true })).whole();
    const types = typesOf(stream);
    expect(types.slice(types.indexOf('response.output_text.delta'))).toEqual([
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'error',
      'response.failed',
    ]);
  });

  it(promise('acp.failures'), async () => {
    await start();
    const failure = '{"code":-32603,"message":"Internal error","data":{"details":"429 for sk-secret-1"}}';
    for (const [script, code] of [
      [doing('say Hel', 'open Thinking', `fail ${failure}`), 'rate_limited'],
      [doing('say Hel', 'open Thinking', 'die 9'), 'interrupted'],
    ] as const) {
      const reply = await askIn(script);
      const envelopes = await reply.allEnvelopes();
      const { status, error } = envelopes.at(-1)!.data as { status: string; error: { code: string } };
      expect([status, error.code]).toEqual(['failed', code]);
      expect(JSON.stringify(envelopes)).not.toMatch(/sk-secret|fatal/);
      expect(dataOf(envelopes, 'tool_result')).toMatchObject([{ isError: true }]);
      const again = envelopesOf(await (await follow(host.url, reply.runId, { 'x-caller': 'ann' })).whole());
      expect(again).toEqual(envelopes);
    }
  });
});
