import type { Envelope } from 'nest-agent-query';
import { Translation, type TranslationSettings } from './translation.js';

const SETTINGS: TranslationSettings = { sessionId: 'own', cwd: '/srv/project' };

/** What callers get of updates of one turn, and of its end. */
function told(updates: unknown[]): Envelope[] {
  const translation = new Translation(SETTINGS);
  const envelopes = updates.flatMap((update) => translation.update({ sessionId: 'own', update }));
  return [...envelopes, ...translation.ended({ stopReason: 'end_turn' }).envelopes];
}

function call(members: object) {
  return { sessionUpdate: 'tool_call', toolCallId: 'c1', title: 'ls', kind: 'execute', ...members };
}

function more(members: object) {
  return { sessionUpdate: 'tool_call_update', toolCallId: 'c1', ...members };
}

const text = (words: string) => ({ type: 'content', content: { type: 'text', text: words } });

describe('The calls of an agent', () => {
  it('are told once with their arguments, when they begin (opencode)', () => {
    const result = { output: 'a.txt', metadata: {} };
    expect(
      told([
        call({ title: 'bash', status: 'pending', rawInput: {} }),
        more({ title: 'List files', status: 'in_progress', rawInput: { command: 'ls' } }),
        more({ status: 'in_progress', rawInput: { command: 'ls' } }),
        more({ status: 'completed', rawOutput: result, content: [text('a.txt')] }),
        more({ status: 'completed', rawOutput: result }),
      ]),
    ).toEqual([
      {
        type: 'tool_call',
        data: {
          id: 'c1',
          name: 'execute',
          arguments: { command: 'ls' },
          title: 'List files',
          kind: 'execute',
        },
      },
      { type: 'tool_result', data: { id: 'c1', content: result } },
    ]);
  });

  it('are told when they are over if nothing says that they begin (claude-acp, gemini)', () => {
    const meta = { claudeCode: { toolName: 'Bash' } };
    expect(
      told([
        call({ status: 'pending', rawInput: {}, _meta: meta }),
        more({ rawInput: { command: 'ls' } }),
        more({ status: 'failed', content: [text('no'), text('way')] }),
      ]),
    ).toEqual([
      {
        type: 'tool_call',
        data: { id: 'c1', name: 'Bash', arguments: { command: 'ls' }, title: 'ls', kind: 'execute' },
      },
      { type: 'tool_result', data: { id: 'c1', content: 'no\nway', isError: true } },
    ]);
  });

  it('are one if their beginning comes twice (old claude-acp), and two if the first is over', () => {
    const twice = [call({ status: 'pending' }), call({ status: 'in_progress' })];
    const end = more({ status: 'completed', rawOutput: 'x' });
    const ids = (updates: unknown[]) =>
      told(updates).map(({ type, data }) => [type, (data as { id: string }).id]);
    const once = [['tool_call', 'c1'], ['tool_result', 'c1']]; // prettier-ignore
    expect(ids([...twice, end, call({ status: 'completed' })])).toEqual(once);
    expect(ids([...twice, end, call({ status: 'in_progress' }), end])).toEqual([
      ...once,
      ['tool_call', 'c1:2'],
      ['tool_result', 'c1:2'],
    ]);
  });

  it('have the output of a command once, though codex has it three times', () => {
    const output = {
      stdout: 'hi\n',
      aggregated_output: 'hi\n',
      formatted_output: 'hi\n',
      cwd: '/srv/project',
    };
    const [, result] = told([
      call({ status: 'in_progress' }),
      more({ status: 'completed', rawOutput: output }),
    ]);
    expect(result).toEqual({ type: 'tool_result', data: { id: 'c1', content: 'hi\n' } });
  });

  it('have paths relative to the folder of the session, diffs that are cut, and locations', () => {
    const content = [
      { type: 'diff', path: '/srv/project/src/a.ts', oldText: null, newText: 'x'.repeat(70_000) },
      { type: 'diff', path: '/etc/hosts', oldText: 'a', newText: 'b' },
      { type: 'terminal', terminalId: 't' },
    ];
    const locations = [
      { path: '/srv/project/src/a.ts', line: 3 },
      { path: '/srv/project', line: -1 },
      { path: 5 },
    ];
    const title = 'Edit /srv/project/src/a.ts';
    const [{ data }] = told([call({ title, status: 'in_progress', content, locations })]) as [Envelope];
    expect(data).toMatchObject({
      title: 'Edit ./src/a.ts',
      diffs: [
        { path: 'src/a.ts', oldText: null, newText: 'x'.repeat(65_536), truncated: true },
        { path: '/etc/hosts', oldText: 'a', newText: 'b' },
      ],
      locations: [{ path: 'src/a.ts', line: 3 }, { path: '.' }],
    });
  });

  it('are told before the question about them, without a second time after it (codex, gemini)', () => {
    const translation = new Translation(SETTINGS);
    const toolCall = { toolCallId: 'c1', title: 'rm a', kind: 'execute', status: 'pending' };
    const params = { sessionId: 'own', toolCall, options: [] };
    const told = { id: 'c1', name: 'execute', arguments: {}, title: 'rm a', kind: 'execute' };
    expect(translation.asked(params)).toMatchObject({ envelopes: [{ type: 'tool_call', data: told }] });
    expect(translation.update({ sessionId: 'own', update: call({ status: 'in_progress' }) })).toEqual([]);
    expect(translation.asked(params).envelopes).toEqual([]);
  });

  it('have a result when the prompt is answered, fails, or is cancelled: that it was refused, or is not known', () => {
    const translation = new Translation(SETTINGS);
    const asked = (id: string) => translation.asked({ sessionId: 'own', toolCall: { toolCallId: id } }).call;
    asked('a').refusal = 'The user has not allowed the call.';
    asked('b');
    expect(translation.failed(new Error('gone'))).toMatchObject({
      envelopes: [
        { data: { id: 'a', content: 'Not executed. The user has not allowed the call.', isError: true } },
        { data: { id: 'b', content: 'The agent has not said how the call ended.', isError: true } },
      ],
      error: { code: 'interrupted' },
    });
    expect(translation.closed()).toEqual([]);
  });

  it('of a child session are not those of the session with the same id', () => {
    const translation = new Translation(SETTINGS);
    const update = call({ status: 'in_progress' });
    const ids = ['own', 'child'].flatMap((sessionId) => translation.update({ sessionId, update }));
    expect(ids.map(({ data }) => (data as { id: string }).id)).toEqual(['c1', 'c1:2']);
  });

  it('have results and arguments of at most 256 Ki characters', () => {
    const rawInput = { text: 'y'.repeat(300_000) };
    const long = told([call({ status: 'completed', rawInput, rawOutput: 'x'.repeat(300_000) })]);
    const [{ arguments: args }, { content }] = long.map(({ data }) => data) as [
      { arguments: string },
      { content: string },
    ];
    for (const shown of [args, content])
      expect(shown).toMatch(/^.{262144}… \[The result has 300\d+ characters/s);
  });
});
