import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentHandler, Envelope, Question } from 'nest-agent-query';
import { collect, contextOf, queryOf, type TestContext } from 'nest-agent-query/testing';
import { answering, parking } from '../../../test/contracts/adapters/asking.js';
import { FakeModel, type ModelAct, type ModelStep } from '../../../test/contracts/adapters/fake-model.js';
import { type ClaudeAgentOptions, fromClaudeAgent } from '../src/index.js';
import { anyRuns } from '../../../test/support/child-processes.js';
import { programQuery } from './program-query.js';
import { scriptedQuery } from './scripted-query.js';

const END: ModelAct = { type: 'end', usage: { inputTokens: 2, outputTokens: 1 } };
const YES = { approved: true };
const says = (text: string): ModelStep => ({ acts: [{ type: 'text', text }, END] });
const call = (id: string, name: string, args: Record<string, unknown>): ModelAct => {
  return { type: 'call', id, name, arguments: args };
};
const ofType = (envelopes: Envelope[], type: string) =>
  envelopes.filter((envelope) => envelope.type === type).map(({ data }) => data as Record<string, unknown>);
const ASKED = {
  questions: [
    {
      question: 'Which city?',
      header: 'City',
      multiSelect: false,
      options: [
        { label: 'Paris', description: 'in France' },
        { label: 'Rome', description: 'in Italy' },
      ],
    },
    { question: 'What else?', header: 'Else', multiSelect: true, options: [{ label: 'a' }, { label: 'b' }] },
  ],
};

describe('The handler of the Claude Agent SDK', () => {
  let directory: string;
  let done: unknown[];
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'claude-agent-'));
    done = [];
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  const handlerOf = (steps: ModelStep[], options: ClaudeAgentOptions = {}, result = 'done') => {
    const model = new FakeModel(steps);
    const execute = (args: unknown) => {
      done.push(args);
      return result;
    };
    const names = ['Bash', 'Read', 'Write', 'AskUserQuestion'];
    const query = scriptedQuery(
      model,
      names.map((name) => ({ name, execute })),
    );
    return { model, handler: fromClaudeAgent({ query, directory, ...options }) };
  };
  const kept = async () => (await readdir(directory, { recursive: true })).sort();
  const answer = async (handler: AgentHandler, context: TestContext, text = 'Do it') =>
    collect(handler.handle(await queryOf(text), context));
  const bash: ModelStep = { acts: [call('c1', 'Bash', { command: 'echo a' }), END] };

  it('asks about what changes something, and not about what reads', async () => {
    const read: ModelStep = { acts: [call('c0', 'Read', { file_path: 'a' }), END] };
    const { handler } = handlerOf([bash, says('Done')]);
    const context = answering(await contextOf(), () => YES);
    await answer(handler, context);
    expect(context.questions).toEqual([
      {
        key: 'c1',
        kind: 'approval',
        message: 'Bash: echo a',
        toolCallId: 'c1',
        name: 'Bash',
        arguments: { command: 'echo a' },
        editable: true,
      },
    ]);
    const reader = await contextOf({ runId: 'r2' });
    await answer(handlerOf([read, says('Read')]).handler, reader);
    expect(reader.questions).toEqual([]);
  });

  it('makes a call with the arguments that a person gives', async () => {
    const { handler } = handlerOf([bash, says('Done')]);
    const value = { approved: true, arguments: { command: 'echo b' } };
    await answer(
      handler,
      answering(await contextOf(), () => value),
    );
    expect(done).toEqual([{ command: 'echo b' }]);
  });

  it('refuses the second call of a step that needs a person, so that none is lost', async () => {
    const two: ModelStep = {
      acts: [call('c1', 'Bash', { command: 'a' }), call('c2', 'Bash', { command: 'b' }), END],
    };
    const { handler } = handlerOf([two, says('Done')]);
    const context = answering(await contextOf(), () => YES);
    const envelopes = await answer(handler, context);
    expect(context.questions.map(({ key }) => key)).toEqual(['c1']);
    expect(done).toEqual([{ command: 'a' }]);
    expect(ofType(envelopes, 'tool_result')).toEqual([
      {
        id: 'c2',
        content:
          'Not executed. Only one call of a step can wait for the user. Make this call again when the other one has its result.',
        isError: true,
      },
      { id: 'c1', content: 'done' },
    ]);
  });

  it('does not execute with a newer question what nobody has allowed', async () => {
    const session = { sessionId: 's', owner: 'ann' };
    const { model, handler } = handlerOf([bash, says('Old'), says('New')]);
    await answer(handler, parking(await contextOf({ ...session, runId: 'turn-1' })));
    const turns = [{ question: 'Do it', answer: '', end: { status: 'cancelled' as const } }];
    const envelopes = await answer(handler, await contextOf({ ...session, runId: 'turn-2', turns }), 'Newer');
    expect(done).toEqual([]);
    expect(ofType(envelopes, 'message')).toEqual([{ content: 'New' }]);
    expect(ofType(envelopes, 'tool_result')).toEqual([]);
    expect(model.newest.messages.at(-1)).toMatchObject({ role: 'user', text: 'Newer' });
  });

  it('asks the user what Claude asks', async () => {
    const { handler } = handlerOf([{ acts: [call('c1', 'AskUserQuestion', ASKED), END] }, says('Done')]);
    const context = answering(await contextOf(), ({ key }: Question) => (key === 'c1' ? 'Rome' : ['a', 'b']));
    await answer(handler, context);
    expect(context.questions).toEqual([
      {
        key: 'c1',
        kind: 'input',
        message: 'Which city?\n- Paris: in France\n- Rome: in Italy',
        toolCallId: 'c1',
        schema: { type: 'string', enum: ['Paris', 'Rome'] },
      },
      {
        key: 'c1:2',
        kind: 'input',
        message: 'What else?',
        toolCallId: 'c1',
        schema: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
      },
    ]);
    expect(done).toEqual([{ ...ASKED, answers: { 'Which city?': 'Rome', 'What else?': 'a, b' } }]);
  });

  it('begins anew with the history where the conversation went on elsewhere', async () => {
    const { model, handler } = handlerOf([says('Hello Ada'), says('Ada')]);
    const session = { sessionId: 's', owner: 'ann' };
    await answer(handler, await contextOf({ ...session, runId: 'turn-1' }), 'My name is Ada');
    const turns = [
      { question: 'My name is Ada', answer: 'Hello Ada' },
      { question: 'And Bob', answer: 'Hello Bob' },
    ];
    const envelopes = await answer(handler, await contextOf({ ...session, turns, runId: 'turn-3' }), 'Who?');
    expect(ofType(envelopes, 'log')).toEqual([
      { message: 'The agent does not have this conversation any more. It is told what was said.' },
    ]);
    expect(model.newest.messages.map(({ role, text }) => [role, text])).toEqual([
      [
        'user',
        'The conversation until now:The user said:My name is AdaYou said: Hello Ada' +
          'The user said:And BobYou said: Hello BobNow the user says:Who?',
      ],
    ]);
  });

  it('keeps the files of a session when a query replaces turns, and removes them with the session', async () => {
    const { handler } = handlerOf([says('Hello')]);
    await answer(handler, await contextOf({ sessionId: 's' }));
    const works = async () =>
      (await readdir(directory, { recursive: true })).filter((path) => /\/work\/[^/]+$/.test(path));
    const session = { owner: 'anonymous', id: 's' };
    await handler.sessionErased?.({ ...session, goesOn: true });
    expect((await works()).length).toBe(1);
    await handler.sessionErased?.(session);
    expect(await works()).toEqual([]);
  });

  it('ends as interrupted if the conversation of a call that waits is lost', async () => {
    const parked = parking(await contextOf({ sessionId: 's' }));
    await answer(handlerOf([bash]).handler, parked);
    const resumed = { attempt: 2, state: parked.checkpoints.at(-1) };
    await handlerOf([]).handler.sessionErased?.({ owner: 'anonymous', id: 's' });
    const again = await contextOf({ sessionId: 's', resumed });
    await expect(answer(handlerOf([]).handler, again)).rejects.toMatchObject({ code: 'interrupted' });
    expect(again.questions).toEqual([]);
  });

  it('does not make a call again that it may have made', async () => {
    const parked = parking(await contextOf({ sessionId: 's' }));
    await answer(handlerOf([bash]).handler, parked);
    const state = { ...(parked.checkpoints.at(-1) as object), isAllowed: true };
    const { handler } = handlerOf([says('I look.')]);
    const envelopes = await answer(
      handler,
      await contextOf({ sessionId: 's', resumed: { attempt: 2, state } }),
    );
    expect(done).toEqual([]);
    expect(ofType(envelopes, 'tool_result')).toMatchObject([
      { id: 'c1', isError: true, content: expect.stringContaining('is not known') as string },
    ]);
  });

  it('shows what a call changes', async () => {
    const input = { file_path: join(directory, 'a.txt'), content: 'hello\n' };
    const { handler } = handlerOf([{ acts: [call('c1', 'Write', input), END] }, says('Done')], {
      cwd: () => directory,
    });
    const context = answering(await contextOf(), () => YES);
    const envelopes = await answer(handler, context);
    expect(context.questions).toMatchObject([{ message: 'Write: ./a.txt' }]);
    expect(ofType(envelopes, 'tool_call')).toEqual([
      {
        id: 'c1',
        name: 'Write',
        arguments: input,
        kind: 'edit',
        locations: [{ path: 'a.txt' }],
        diffs: [{ path: 'a.txt', oldText: null, newText: 'hello\n' }],
      },
    ]);
  });

  it('leaves nothing of a run without a session', async () => {
    await answer(handlerOf([says('Hello')]).handler, await contextOf());
    expect(await kept()).toEqual(['owners', 'processes']);
  });

  it('removes what it has of a session with it, and the home of its owner with the last one', async () => {
    const { handler } = handlerOf([says('One'), says('Two')]);
    for (const sessionId of ['s', 't'])
      await answer(handler, await contextOf({ sessionId, runId: sessionId }));
    const files = async () => (await kept()).filter((path) => /\.(jsonl?)$/.test(path)).length;
    expect(await files()).toBe(4);
    await handler.sessionErased!({ owner: 'anonymous', id: 's' });
    expect(await files()).toBe(2);
    await handler.sessionErased!({ owner: 'anonymous', id: 't' });
    expect(await kept()).toEqual(['owners', 'processes']);
  });

  it('ends the program of a query, and what has left its group', async () => {
    const { query, started } = programQuery();
    const { handler } = handlerOf([], { query });
    expect(ofType(await answer(handler, await contextOf()), 'message')).toEqual([{ content: 'Hello' }]);
    expect([await anyRuns(started), await kept()]).toEqual([false, ['owners', 'processes']]);
    expect(started).toHaveLength(2);
  });

  it('cuts what a tool has returned at 256 KiB', async () => {
    const { handler } = handlerOf([bash, says('Done')], { ask: [] }, 'x'.repeat(300_000));
    const [result] = ofType(await answer(handler, await contextOf()), 'tool_result');
    expect((result!['content'] as string).replace(/^x{262144}…/, '')).toBe(
      ' [The result has 300000 characters. The rest is left out.]',
    );
  });

  it('says which directory the host has named that does not exist', async () => {
    const { handler } = handlerOf([says('Hello')], { cwd: () => join(directory, 'nowhere') });
    await expect(answer(handler, await contextOf())).rejects.toThrow(
      /^The option "cwd" returned ".*nowhere", which is no absolute path of a directory\./,
    );
  });

  it('has a directory for each owner, and nothing else of the environment of the service', async () => {
    const seen: Record<string, string>[] = [];
    const query: ClaudeAgentOptions['query'] = ({ options }) => {
      seen.push((options as { env: Record<string, string> }).env);
      throw new Error('No.');
    };
    process.env['SECRET_OF_THE_SERVICE'] = 'x';
    const { handler } = handlerOf([], { query, env: { ANTHROPIC_API_KEY: 'k', HOME: '/root' } });
    for (const owner of ['ann', 'bob'])
      await expect(answer(handler, await contextOf({ owner, sessionId: 's' }))).rejects.toThrow('No.');
    delete process.env['SECRET_OF_THE_SERVICE'];
    const known = ['PATH', 'LANG', 'TMPDIR', 'HOME', 'CLAUDE_CONFIG_DIR', 'ANTHROPIC_API_KEY'];
    const xdg = ['XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME'];
    const set = [
      'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC',
      'DISABLE_AUTOUPDATER',
      'CLAUDE_CODE_MAX_RETRIES',
    ];
    for (const env of seen)
      expect(Object.keys(env).filter((name) => ![...known, ...xdg, ...set].includes(name))).toEqual([]);
    expect([seen[0]!['PATH'], seen[0]!['CLAUDE_CODE_MAX_RETRIES']]).toEqual([process.env['PATH'], '2']);
    expect(seen[0]!['HOME']).toMatch(/^\/.*home$/);
    expect(seen[0]!['HOME']).not.toBe(seen[1]!['HOME']);
  });

  it('refuses options that are not valid', () => {
    expect(() => fromClaudeAgent({ directory: 'state' })).toThrow(
      'The option "directory" must be an absolute path.',
    );
    expect(() => fromClaudeAgent({ contextTokens: 0 })).toThrow(RangeError);
    expect(() => fromClaudeAgent({ model: 'x' } as ClaudeAgentOptions)).toThrow(TypeError);
  });

  it('says what to install', async () => {
    const { handler } = handlerOf([], { query: undefined as never });
    await expect(answer(handler, await contextOf())).rejects.toThrow(
      'npm install @anthropic-ai/claude-agent-sdk',
    );
  });
});
