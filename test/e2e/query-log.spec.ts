import { ConsoleLogger, type LoggerService } from '@nestjs/common';
import { jest } from '@jest/globals';
import {
  message,
  type Query,
  type QueryContext,
  QueryError,
  QueryModule,
  type QueryModuleOptions,
} from '../../src/index.js';
import { QueryLog } from '../../src/telemetry/index.js';
import { promise } from '../promises.js';
import { ask, cancel, get, request } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host, startHost } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

type Entry = Record<string, unknown>;

/** What a terminal or a reader of lines must not get from a caller. */
const HOSTILE = 'a\nb\r\u001b[31mred\u009b2J\u2028\u202e"x" \ud800';
const HARMLESS = 'a\\u000ab\\u000d\\u001b[31mred\\u009b2J\\u2028\\u202e"x" \\ud800';
/** The same in a text of several lines. */
const HARMLESS_LINES = HARMLESS.replace('\\u000a', '\n    ');

describeOnOneAdapter('The log of queries, on %s', (adapter) => {
  let written: string[];
  let host: Host;

  beforeEach(() => {
    written = [];
    jest.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  });
  afterEach(async () => {
    await host.close();
    jest.restoreAllMocks();
  });

  async function start(logger: LoggerService, options: QueryModuleOptions, name?: string): Promise<void> {
    const runs = { drainMs: 0, stopDeadlineMs: 100, ...options.runs };
    const module = QueryModule.forRoot({ ...options, runs, ...(name && { name }), listeners: [QueryLog] });
    host = await startHost(adapter, module);
    host.app.useLogger(logger);
  }

  const json = () => new ConsoleLogger({ json: true, colors: false });
  /** Whole lines, so that an entry of several lines would not be one of them. */
  const lines = () => written.join('').split('\n').slice(0, -1);
  const entries = () => lines().map((line) => (JSON.parse(line) as { message: Entry }).message);

  it(promise('module.query-log', 'as JSON'), async () => {
    const scripted = new ScriptedAgent();
    await start(json(), { handler: scripted.handler });
    const file = { type: 'file', name: 'secret.txt', mimeType: 'text/plain', base64: 'c2VjcmV0' };
    const body = { parts: [{ type: 'text', text: 'secret' }, file], kwargs: { session_id: 's' } };
    const headers = { authorization: 'Bearer secret', 'idempotency-key': 'secret' };
    const run = await request(host.url, { headers }, JSON.stringify(body));
    (await scripted.call(1)).emit(message('secret'));
    scripted.calls[0]!.finish();
    await run.whole();
    await eventually(() => lines().length === 2);
    await (await request(host.url, { headers }, JSON.stringify(body))).whole();
    const named = { run: run.runId, session: 's', owner: 'anonymous', attempt: 1 };
    expect(entries()).toEqual([
      { event: 'admitted', ...named, waits: false, files: 1, fileBytes: 6 },
      {
        event: 'ended',
        ...named,
        status: 'completed',
        waitedMs: expect.any(Number),
        executedMs: expect.any(Number),
        firstEventMs: expect.any(Number),
        envelopes: 2,
        characters: JSON.stringify(message('secret')).length,
      },
      { event: 'repeated', ...named },
    ]);
    expect(lines().join('\n')).not.toContain('secret');
  });

  it(promise('module.query-log', 'of a run that asks, without questions and values'), async () => {
    async function* handler(_: Query, context: QueryContext) {
      await context.ask([
        { key: 'refund\u202e881', kind: 'approval', message: 'secret', name: 'secret', arguments: 'secret' },
        { key: 'pin', kind: 'input', message: 'secret' },
      ]);
      yield message('secret');
    }
    await start(json(), {
      handler,
      owner: ({ headers }) => headers['x-user'] as string,
      canAnswer: () => true,
    });
    const run = await ask(host.url, 'secret', { headers: { 'x-user': 'ann' } });
    await run.until('input_required');
    const value = { approved: false, reason: 'secret' };
    const answers = [{ id: 'refund\u202e881', outcome: 'answered', value }];
    const path = `/query/${run.runId}/inputs`;
    await request(host.url, { path, headers: { 'x-user': 'bob' } }, JSON.stringify({ answers }));
    await request(host.url, { method: 'DELETE', path: `/query/${run.runId}`, headers: { 'x-user': 'ann' } });
    await run.whole();
    await host.idle();
    const named = { run: run.runId, owner: 'ann', attempt: 1 };
    const waitedMs = expect.any(Number) as number;
    expect(entries()).toMatchObject([
      { event: 'admitted', ...named },
      { event: 'asked', ...named, requests: 2, kinds: 'approval,input' },
      {
        event: 'resolved',
        ...named,
        request: 'refund\\u202e881',
        kind: 'approval',
        outcome: 'answered',
        by: 'bob',
        waitedMs,
      },
      { event: 'resolved', ...named, request: 'pin', kind: 'input', outcome: 'cancelled', waitedMs },
      { event: 'ended', ...named, status: 'cancelled' },
    ]);
    expect(entries()[3]).not.toHaveProperty('by');
    expect(lines().join('\n')).not.toContain('secret');
  });

  it(promise('module.query-log', 'refusals, and runs that fail or are cancelled'), async () => {
    const scripted = new ScriptedAgent();
    await start(json(), { handler: scripted.handler, runs: { maxRunning: 1, maxWaiting: 1 } });
    await (await request(host.url, {}, '{')).whole();
    const first = await ask(host.url);
    await scripted.call(1);
    const second = await ask(host.url);
    await (await ask(host.url, 'Hello', { kwargs: { session_id: 's' } })).whole();
    await cancel(host.url, second.runId);
    scripted.calls[0]!.fail(new QueryError('quota_exceeded', 'Used up.', { status: 402 }));
    await Promise.all([first.whole(), second.whole()]);
    expect((await get(host.url, '/query/none')).status).toBe(404);
    await host.idle();
    expect(entries()).toMatchObject([
      { event: 'refused', owner: 'anonymous', code: 'invalid_json', status: 400 },
      { event: 'admitted', run: first.runId, waits: false },
      { event: 'admitted', run: second.runId, waits: true },
      { event: 'refused', session: 's', owner: 'anonymous', code: 'at_capacity', status: 503 },
      { event: 'ended', run: second.runId, status: 'cancelled', characters: 0 },
      { event: 'ended', run: first.runId, status: 'failed', code: 'quota_exceeded' },
    ]);
    expect(entries()[4]).not.toHaveProperty('executedMs');
  });

  it.each<[string, () => unknown, string]>([
    [
      'an error',
      () => Object.assign(new Error(`${HOSTILE}\n[Nest] 1  - forged`), { stack: undefined }),
      'The handler failed.\n[Error: ' + `${HARMLESS_LINES}\n    [Nest] 1  - forged]`,
    ],
    [
      'a stack',
      () => Object.assign(new Error(), { stack: `Error: ${HOSTILE}\n[Nest] 1  - forged\n\tat x\n    at y` }),
      'The handler failed.\nError: ' + `${HARMLESS_LINES}\n    [Nest] 1  - forged\n    \tat x\n    at y`,
    ],
    [
      'a sentence',
      () => new QueryError('quota_exceeded', `Used up: ${HOSTILE}`, { status: 402 }),
      `Used up: ${HARMLESS}`,
    ],
  ])(promise('module.error-log', '%s of a handler'), async (_, errorOf, expected) => {
    const troubles: string[] = [];
    jest.spyOn(process.stderr, 'write').mockImplementation((text) => troubles.push(String(text)) > 0);
    const scripted = new ScriptedAgent();
    await start(new ConsoleLogger({ colors: false }), { handler: scripted.handler });
    const run = await ask(host.url);
    (await scripted.call(1)).fail(errorOf());
    await run.whole();
    expect(troubles.join('')).toMatch(/^\[Nest\] \d+ .* ERROR \[Runner\] Run /);
    expect(troubles.join('').replace(/^.*? Run [\w-]+: /, '')).toBe(`${expected}\n`);
  });

  it.each([
    ['as JSON', json],
    ['as text', () => new ConsoleLogger({ colors: false })],
  ])(promise('module.query-log', 'with hostile owners and sessions, %s'), async (_, logger) => {
    const scripted = new ScriptedAgent();
    const options = { handler: scripted.handler, owner: () => `${HOSTILE}${'y'.repeat(1_000)}` };
    await start(logger(), options, 'research');
    const kwargs = { session_id: HOSTILE };
    const run = await request(host.url, {}, JSON.stringify({ parts: [{ type: 'text', text: 'a' }], kwargs }));
    (await scripted.call(1)).finish();
    await run.whole();
    await eventually(() => lines().length >= 2);
    expect(lines()).toHaveLength(2);
    // eslint-disable-next-line no-control-regex
    expect(lines().join('')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202e]/);
    if (logger === json) {
      const [admitted] = entries();
      expect(admitted).toMatchObject({ module: 'research', session: HARMLESS });
      expect(String(admitted!['owner']).length).toBeLessThan(400);
    } else {
      expect(lines()[0]).toMatch(
        /LOG \[Query\] Query admitted: module=research run=[\w-]+ session="a\\\\u000ab\\\\u000d.*waits=false/,
      );
      expect(lines()[1]).toMatch(
        /LOG \[Query\] Run ended: module=research run=.* status=completed waitedMs=/,
      );
    }
  });
});
