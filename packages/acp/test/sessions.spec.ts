import { statSync } from 'node:fs';
import type { AgentHandler, Envelope } from 'nest-agent-query';
import type { TurnInput } from 'nest-agent-query/testing';
import { IS_LONG } from '../../../test/support/long-form.js';
import { type Answered, answerOf, dataOf, Scripted, textOf, toldBy } from './scripted.js';

/** Agents whose session cannot be loaded. */
const LOST = ['load-fails=-32002', 'load-fails=-32602', 'load-fails=-32603', 'no-load'];

/** How a session is opened again. The options of a session, which are set after it too, are tested with the other way. */
const OPENED = IS_LONG ? ['', 'resume'] : ['resume'];

const ENVIRONMENT = [
  'AGENT_IS',
  'HOME',
  'LANG',
  'PATH',
  'TMPDIR',
  'XDG_CACHE_HOME',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_STATE_HOME',
];

describe('A session of an agent of ACP', () => {
  let scripted: Scripted;
  let turns: TurnInput[];
  beforeEach(() => {
    scripted = new Scripted();
    turns = [];
  });
  afterEach(() => scripted.end());

  /** Sends the next query of a session. */
  async function turn(
    handler: AgentHandler,
    script: string[],
    owner = 'ann',
    sessionId = 's',
  ): Promise<Answered> {
    const question = script.map((line) => `DO ${line}`).join('\n');
    const runId = `turn-${turns.length + 1}`;
    const answer = await answerOf(handler, question, undefined, { runId, sessionId, owner, turns });
    turns.push({ question, answer: answer.envelopes });
    return answer;
  }

  it.each(['', 'resume'])('goes on in another process, and says nothing again: %s', async (is) => {
    const handler = scripted.handler(is);
    await turn(handler, ['say Hello', 'run echo hi']);
    const { envelopes } = await turn(handler, ['tell prompts']);
    expect(envelopes.map(({ type }) => type)).toEqual(['message']);
    expect(toldBy(envelopes)).toEqual(['DO say Hello\nDO run echo hi', 'DO tell prompts']);
  });

  it.each(LOST)('begins anew with the history where it is lost, and says so: %s', async (is) => {
    const handler = scripted.handler(is);
    await turn(handler, ['say My name is Ada']);
    const { envelopes, error } = await turn(handler, ['tell prompts']);
    expect(error).toBeUndefined();
    const [prompt, ...others] = toldBy(envelopes) as string[];
    expect(others).toEqual([]);
    expect(prompt).toContain('My name is Ada');
    expect(dataOf(envelopes, 'log').length).toBe(1);
  });

  it('is not continued where the history is another one', async () => {
    const handler = scripted.handler('resume');
    const replaced = { runId: 'replaced', sessionId: 's', owner: 'ann' };
    await answerOf(handler, ['say The secret is 7'], undefined, replaced);
    turns = [{ question: 'Hello', answer: 'Hi' }];
    const { envelopes } = await turn(handler, ['tell prompts']);
    expect(JSON.stringify(toldBy(envelopes))).not.toContain('secret');
  });

  it.each(OPENED)('asks also after it was loaded: %s', async (is) => {
    const handler = scripted.handler(`modes=auto,default;${is}`);
    await turn(handler, ['tell mode']);
    const { envelopes, context } = await turn(handler, ['run echo hi', 'tell mode']);
    expect(toldBy(envelopes)).toBe('default');
    expect(context.questions.length).toBe(1);
  });

  it('may have no modes, or another one that asks', async () => {
    expect(toldBy((await answerOf(scripted.handler('modes='), ['tell home'])).envelopes)).toBeDefined();
    const handler = scripted.handler('modes=auto,ask', { mode: 'ask' });
    expect(toldBy((await answerOf(handler, ['tell mode'])).envelopes)).toBe('ask');
  });

  it('has its options also after it was loaded', async () => {
    const handler = scripted.handler('options=low,high', { configOptions: { depth: 'high' } });
    expect(toldBy((await turn(handler, ['tell depth'])).envelopes)).toBe('high');
    expect(toldBy((await turn(handler, ['tell depth'])).envelopes)).toBe('high');
  });

  it('needs a sign-in where the agent does', async () => {
    const { envelopes } = await answerOf(scripted.handler('auth', { authMethod: 'key' }), ['say Hello']);
    expect(textOf(envelopes)).toBe('Hello');
  });

  it('belongs to an owner: others have another home and another folder', async () => {
    const handler = scripted.handler();
    const told = async (owner: string) => {
      const script = ['tell home', 'tell cwd', 'tell environment'];
      const { envelopes } = await answerOf(handler, script, undefined, { owner, sessionId: 's' });
      const texts = dataOf(envelopes, 'message').map(({ content }) => content as string);
      return texts.map((text) => JSON.parse(text) as unknown) as [string, string, string[]];
    };
    const [home, folder, names] = await told('ann');
    const [otherHome, otherFolder] = await told('bob');
    expect(new Set([home, otherHome]).size).toBe(2);
    expect(new Set([folder, otherFolder]).size).toBe(2);
    for (const path of [home, folder]) expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(`${home}${folder}`).not.toContain('ann');
    expect(names).toEqual(expect.arrayContaining(['HOME', 'PATH', 'AGENT_IS']));
  });

  it('has an environment of its own', async () => {
    process.env['SECRET_OF_THE_SERVICE'] = 'x';
    const { envelopes } = await answerOf(scripted.handler(), ['tell environment']);
    delete process.env['SECRET_OF_THE_SERVICE'];
    const names = (toldBy(envelopes) as string[]).filter((name) => !name.startsWith('NEST_AGENT_QUERY'));
    expect(names.filter((name) => !ENVIRONMENT.includes(name))).toEqual([]);
  });

  it('keeps its process for the next turn where the operator says so', async () => {
    const handler = scripted.handler('children', { keepMs: 60_000, processes: 1 });
    const pids = [];
    for (let count = 0; count < 3; count++) pids.push(toldBy((await turn(handler, ['tell pid'])).envelopes));
    expect(new Set(pids).size).toBe(1);
    // The agent, and its process for the session.
    expect(scripted.processes.length).toBe(2);
    const other = await answerOf(handler, ['tell pid'], undefined, { sessionId: 'other' });
    expect(pids).not.toContain(toldBy(other.envelopes));
    await handler.sessionErased?.({ owner: 'anonymous', id: 'other' });
    expect(scripted.processes).toEqual([]);
  });

  it('is erased with its process and its files', async () => {
    const handler = scripted.handler('', { keepMs: 60_000 });
    const { envelopes } = await turn(handler, ['write note x', 'tell cwd']);
    const folder = toldBy(envelopes) as string;
    await handler.sessionErased?.({ owner: 'ann', id: 's' });
    expect(() => statSync(folder)).toThrow('ENOENT');
    expect(scripted.processes).toEqual([]);
    turns = [];
    expect(toldBy((await turn(handler, ['tell prompts'])).envelopes)).toEqual(['DO tell prompts']);
    await handler.sessionErased?.({ owner: 'ann', id: 's' });
  });

  it('keeps the files of its folder, and not its conversation, when a query replaces turns', async () => {
    const handler = scripted.handler('', { keepMs: 60_000 });
    await turn(handler, ['write note x', 'say The secret is 7']);
    await handler.sessionErased?.({ owner: 'ann', id: 's', goesOn: true });
    expect(scripted.processes).toEqual([]);
    turns = [];
    const { envelopes } = await turn(handler, ['read note', 'tell prompts']);
    expect(toldBy(envelopes)).toEqual(['DO read note\nDO tell prompts']);
    expect(JSON.stringify(dataOf(envelopes, 'tool_result'))).not.toContain('is not there');
    await handler.sessionErased?.({ owner: 'ann', id: 's' });
  });

  it('is told a query whose file is a text', async () => {
    const envelopes: Envelope[] = (await answerOf(scripted.handler(), ['tell blocks'])).envelopes;
    expect(toldBy(envelopes)).toEqual([{ type: 'text', text: 'DO tell blocks' }]);
  });
});
