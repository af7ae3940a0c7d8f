import { readdirSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Envelope, QueryError } from 'nest-agent-query';
import { contextOf } from 'nest-agent-query/testing';
import { parking } from '../../../test/contracts/adapters/asking.js';
import { eventuallyElsewhere } from '../../../test/support/conditions.js';
import { checkAcp } from '../src/index.js';
import { AGENT, answerOf, dataOf, NO, Scripted, textOf, toldBy } from './scripted.js';

describe('A run of an agent of ACP', () => {
  let scripted: Scripted;
  beforeEach(() => (scripted = new Scripted()));
  afterEach(() => scripted.end());

  /** Ends the agent while it asks, and allows what it asks then. */
  async function killedWhileAsking(is: string, options = {}) {
    const context = await contextOf({ sessionId: 's', runId: 'run-1' });
    const ask = context.ask.bind(context);
    let kills = 0;
    const questions: string[] = [];
    context.ask = async (asked, given) => {
      questions.push(...asked.map(({ message }) => message));
      if (kills++ === 0) {
        const pids = scripted.processes;
        for (const pid of pids) process.kill(pid, 'SIGKILL');
        await eventuallyElsewhere(() => !pids.some(exists));
        await new Promise(setImmediate);
      }
      return ask(asked, given);
    };
    const script = ['say Before. ', 'run echo once >> done; cat done', 'say After.'];
    return { ...(await answerOf(scripted.handler(is, options), script, undefined, context)), questions };
  }

  it('goes on where its agent has ended while it asked', async () => {
    const { envelopes, error, questions } = await killedWhileAsking('');
    expect(error).toBeUndefined();
    expect(questions).toEqual(['echo once >> done; cat done']);
    expect(textOf(envelopes)).toBe('Before. After.');
    const [lost, made] = dataOf(envelopes, 'tool_result');
    expect(lost).toMatchObject({ isError: true });
    expect(JSON.stringify(made)).toContain('once\\n');
    expect(idsOf(envelopes, 'tool_result').sort()).toEqual(idsOf(envelopes, 'tool_call').sort());
  });

  it('asks again where the agent makes another call then', async () => {
    const { questions } = await killedWhileAsking('changes');
    expect(questions).toEqual(['echo once >> done; cat done', 'echo once >> done; cat done # again']);
  });

  it('is interrupted then, where the operator wants nothing to be made again', async () => {
    const { error } = await killedWhileAsking('', { resumeText: null });
    expect(error).toBeInstanceOf(QueryError);
    expect(error).toMatchObject({ code: 'interrupted' });
  });

  it('without a session goes on in another attempt, and leaves no folder', async () => {
    const first = parking(await contextOf({ runId: 'run-1' }));
    await answerOf(scripted.handler(), ['run echo once'], undefined, first);
    const resumed = { attempt: 2, state: first.checkpoints.at(-1) };
    const input = { runId: 'run-1', resumed };
    const { envelopes, error } = await answerOf(scripted.handler(), ['run echo once'], undefined, input);
    expect(error).toBeUndefined();
    expect(dataOf(envelopes, 'log')).toEqual([]);
    expect(JSON.stringify(dataOf(envelopes, 'tool_result').at(-1))).toContain('once');
    expect(readdirSync(`${scripted.directory}/owners`)).toEqual([]);
  });

  it('tells the agent what was rejected, where the operator says so', async () => {
    const handler = scripted.handler('rejected=end_turn', { onReject: 'tell' });
    const { envelopes } = await answerOf(
      handler,
      ['run echo no', 'say never'],
      () => ({ ...NO, reason: 'Too loud' }),
      { sessionId: 's', runId: 'turn-1' },
    );
    expect(textOf(envelopes)).not.toContain('never');
    const context = {
      sessionId: 's',
      runId: 'run-2',
      turns: [{ question: 'q', answer: 'a' }],
    };
    const { envelopes: next } = await answerOf(handler, ['tell prompts'], undefined, context);
    expect((toldBy(next) as string[])[1]).toMatch(/not allowed this call: "echo no"\. Too loud/);
  });

  it('is not begun where the folder of the host is missing', async () => {
    const { error } = await answerOf(scripted.handler('', { cwd: '/nowhere' }), ['say Hello']);
    expect(String(error)).toContain('"/nowhere"');
  });

  it('can be checked before the first query', async () => {
    await expect(checkAcp(scripted.options())).resolves.toBeUndefined();
    await expect(checkAcp(scripted.options('dead=3;stderr=no key'))).rejects.toThrow(/ended.*no key/s);
    await expect(checkAcp({ ...scripted.options(), command: 'no-such-agent' })).rejects.toThrow(
      'There is no program "no-such-agent". Install it, or correct its name or path.',
    );
    await expect(checkAcp(scripted.options('version=2'))).rejects.toThrow('version 2');
  });

  it.each([
    [{ cwd: '/nowhere' }, 'The folder "/nowhere" of the option cwd does not exist. '],
    [
      { directory: AGENT },
      /^The folder ".*agent\.mjs", for homes and folders of sessions, cannot be written/,
    ],
    [{ home: join(AGENT, 'home') }, /what the agent keeps, cannot be written \(ENOTDIR\)\. Correct its path/],
  ])('has a folder that cannot be used: %j', async (options, sentence) => {
    await expect(checkAcp({ ...scripted.options(), ...options })).rejects.toThrow(sentence);
  });

  it('is checked in the folder and the home that it will have', async () => {
    const [cwd, home] = ['work', 'home'].map((name) => join(scripted.directory, name)) as [string, string];
    await mkdir(cwd);
    const command = `echo $PWD $HOME > seen; exec ${process.execPath} ${AGENT}`;
    const { args: _, ...options } = scripted.options();
    await checkAcp({ ...options, command, cwd, home });
    expect(await readFile(join(cwd, 'seen'), 'utf8')).toBe(`${cwd} ${home}\n`);
  });

  it('is checked with enough of what it has printed to see the error', async () => {
    const { args: _, ...options } = scripted.options();
    const check = checkAcp({ ...options, command: `${process.execPath} no-such-agent.mjs` });
    await expect(check).rejects.toThrow(/Cannot find module '.*no-such-agent\.mjs'/);
  });
});

/** Also of a process that has ended, and whose parent does not know it yet. */
function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const idsOf = (envelopes: Envelope[], type: string) => dataOf(envelopes, type).map(({ id }) => id);
