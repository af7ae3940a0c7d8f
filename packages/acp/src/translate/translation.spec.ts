import fc from 'fast-check';
import type { Envelope } from 'nest-agent-query';
import { Translation, type TranslationSettings } from './translation.js';

const SETTINGS: TranslationSettings = { sessionId: 'own', cwd: '/srv/project' };

/** What callers get of updates of one turn, and of its end. */
function told(updates: unknown[]): Envelope[] {
  const translation = new Translation(SETTINGS);
  const envelopes = updates.flatMap((update) => translation.update({ sessionId: 'own', update }));
  return [...envelopes, ...translation.ended({ stopReason: 'end_turn' }).envelopes];
}

function chunk(text: string, members: object = {}) {
  return { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text }, ...members };
}

function call(members: object) {
  return { sessionUpdate: 'tool_call', toolCallId: 'c1', title: 'ls', kind: 'execute', ...members };
}

describe('The texts of an agent', () => {
  it('are messages with the id of the agent, without it where there is none, and without empty ones', () => {
    expect(
      told([chunk('a', { messageId: 'm1' }), chunk(''), chunk('b'), chunk('c', { messageId: null })]),
    ).toEqual([
      { type: 'message', data: { content: 'a', id: 'm1' } },
      { type: 'message', data: { content: 'b' } },
      { type: 'message', data: { content: 'c' } },
    ]);
  });

  it('are a log if their _meta has a level', () => {
    const meta = { claudeCode: { kind: 'warning' } };
    expect(told([chunk('Careful.\n', { _meta: meta })])).toEqual([
      { type: 'log', data: { message: 'Careful.' } },
    ]);
  });

  it('are what `remarks` says: a log, or an error that ends the turn', () => {
    const remarks = (said: string) =>
      said.startsWith('Info: ') ? 'log' : said.startsWith('Error: ') ? 'error' : undefined;
    const translation = new Translation({ ...SETTINGS, remarks });
    const update = (said: string) => translation.update({ sessionId: 'own', update: chunk(said) });
    expect(update('Info: a')).toEqual([{ type: 'log', data: { message: 'Info: a' } }]);
    expect(update('Error: 429 Too Many Requests at http://10.0.0.1, key sk-1')).toEqual([]);
    const { end } = translation.ended({ stopReason: 'end_turn' });
    expect(end).toMatchObject({
      code: 'rate_limited',
      detail: 'The model gets too many requests. Try again later.',
    });
  });

  it.each([
    // copilot 1.0.102
    [
      'Authentication failed with provider at http://10.0.0.1/v1 (HTTP 401).\n  Check your KEY.',
      'handler_failed',
    ],
    ['Failed to get response from the AI model; retried 5 times Last error: 500 The model.', 'unavailable'],
    ['Failed to get response from the AI model; retried 5 times Last error: 429 The model.', 'rate_limited'],
  ])('are no answer where Copilot says in it that the model has failed: %s', (words, code) => {
    const translation = new Translation(SETTINGS);
    const update = (said: string) => translation.update({ sessionId: 'own', update: chunk(said) });
    const repeats = 'Info: Request failed due to a transient API error. Retrying...';
    expect(update(repeats)).toEqual([{ type: 'log', data: { message: repeats } }]);
    expect(update(`Error: ${words}`)).toEqual([]);
    const { end } = translation.ended({ stopReason: 'end_turn' });
    expect(end).toMatchObject({ code, detail: expect.not.stringContaining('10.0.0.1') as string });
    expect(told([chunk(`The text "Error: ${words}" is an error.`)])).toMatchObject([{ type: 'message' }]);
  });

  it('are marked if a further message says them again, and nothing stands between', () => {
    const again = { type: 'log', data: { message: expect.stringContaining('again') as string } };
    const first = chunk('The capital of France', { messageId: 'm1' });
    const second = [
      chunk('The capital of Fr', { messageId: 'm2' }),
      chunk('ance is Paris', { messageId: 'm2' }),
    ];
    expect(told([first, ...second])[2]).toEqual(again);
    expect(told([first, call({ status: 'in_progress' }), ...second])).not.toContainEqual(again);
    expect(told([first, chunk('The capital of Spain is Madrid', { messageId: 'm2' })])).not.toContainEqual(
      again,
    );
    expect(
      told([chunk('OK', { messageId: 'm1' }), chunk('OK, next', { messageId: 'm2' })]),
    ).not.toContainEqual(again);
  });

  it('are reasoning if they are thoughts, or of a child session', () => {
    const thought = { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'Hm.' } };
    expect(told([thought])).toEqual([{ type: 'reasoning', data: { content: 'Hm.' } }]);
    expect(new Translation(SETTINGS).update({ sessionId: 'other', update: chunk('I look.') })).toEqual([
      { type: 'reasoning', data: { content: 'I look.', id: 'child-1' } },
    ]);
  });

  it('may have other contents: files, sources, and names of what callers cannot open', () => {
    const contents = [
      { type: 'image', mimeType: 'image/png', data: 'iVBORw0=' },
      { type: 'audio', mimeType: 'no type', data: 'AAAA' },
      {
        type: 'resource',
        resource: { uri: 'file:///home/x/a.md?v=1', mimeType: 'text/markdown', text: '# A' },
      },
      { type: 'resource', resource: { uri: 'x:y', blob: 'AAAA' } },
      { type: 'resource_link', uri: 'https://example.org/a', name: 'A page' },
      { type: 'resource_link', uri: 'file:///etc/passwd', name: 'passwd' },
      { type: 'hologram', data: 1 },
    ];
    const file = (name: string, mimeType: string) => ({
      type: 'file',
      data: { name, mimeType, content: expect.any(Uint8Array) as Uint8Array },
    });
    expect(told(contents.map((content) => ({ sessionUpdate: 'agent_message_chunk', content })))).toEqual([
      file('file-1.png', 'image/png'),
      file('file-2.bin', 'application/octet-stream'),
      file('a.md', 'text/markdown'),
      file('x:y', 'application/octet-stream'),
      { type: 'source', data: { url: 'https://example.org/a', title: 'A page' } },
      { type: 'log', data: { message: 'The agent refers to "passwd".' } },
    ]);
  });
});

describe('The other updates of an agent', () => {
  it('are the whole plan, notices and compactions; nothing else', () => {
    const entries = [
      { content: 'Read', status: 'completed', priority: 'high' },
      { content: 'Write' },
      { content: 5 },
    ];
    expect(
      told([
        { sessionUpdate: 'plan', entries },
        { sessionUpdate: 'notice', title: 'The limit is near', severity: 'warning' },
        { sessionUpdate: 'compaction_update', status: 'completed' },
        { sessionUpdate: 'available_commands_update', availableCommands: [] },
        { sessionUpdate: 'user_message_chunk', content: { type: 'text', text: 'me' } },
        { sessionUpdate: 'usage_update', used: 8, size: 258_400 },
        { sessionUpdate: 'hologram' },
      ]),
    ).toEqual([
      {
        type: 'plan',
        data: {
          entries: [
            { content: 'Read', status: 'completed', priority: 'high' },
            { content: 'Write', status: 'pending' },
          ],
        },
      },
      { type: 'log', data: { message: 'The limit is near' } },
      { type: 'log', data: { message: 'The agent has shortened its memory of the conversation.' } },
    ]);
  });

  const counts = { inputTokens: 30, outputTokens: 9 };
  it.each([
    [{ usage: { ...counts, totalTokens: 39, cachedReadTokens: 20, thoughtTokens: 4 } }, { cachedInputTokens: 20, reasoningTokens: 4 }],
    [{ usage: counts, _meta: { usage: { input_tokens: 1, output_tokens: 1 } } }, {}],
    [{ _meta: { quota: { token_count: {}, model_usage: [{ model: 'gemini', token_count: { input_tokens: 30, output_tokens: 9 } }] } } }, { model: 'gemini' }],
    [{ _meta: { quota: { token_count: { input_tokens: 30, output_tokens: 9 } } } }, {}],
    [{ _meta: { usage: { input_tokens: 30, output_tokens: 9 } } }, {}],
  ])('have the use in the answer of the prompt: %j', (response, further) => {
    const { envelopes } = new Translation(SETTINGS).ended({ stopReason: 'end_turn', ...response });
    expect(envelopes).toEqual([{ type: 'usage', data: { ...counts, ...further } }]);
  }); // prettier-ignore

  it('have the use in an empty chunk (qwen), and then it is not counted again', () => {
    const translation = new Translation(SETTINGS);
    const update = chunk('', { _meta: { usage: { ...counts, thoughtTokens: null } } });
    expect(translation.update({ sessionId: 'own', update })).toEqual([{ type: 'usage', data: counts }]);
    expect(translation.ended({ stopReason: 'end_turn', usage: counts }).envelopes).toEqual([]);
  });

  it.each(['max_tokens', 'max_turn_requests', 'refusal', 'cancelled'])(
    'say why they end early: %s',
    (stopReason) => {
      const log = { type: 'log', data: { message: expect.any(String) as string } };
      expect(new Translation(SETTINGS).ended({ stopReason })).toEqual({ envelopes: [log], end: 'completed' });
    },
  );

  it('may be anything: nothing throws, each call is told once before its one result', () => {
    const some = <T>(...values: T[]) =>
      fc.oneof(fc.constantFrom<unknown>(...values), fc.jsonValue({ maxDepth: 2 }));
    const content = fc.record(
      { type: some('text', 'image', 'audio', 'resource', 'resource_link', 'diff', 'content'), text: some('a', ''), path: some('/srv/project/a'),
        newText: some('x'), data: some('AA=='), uri: some('https://a.example', 'file:///a'), resource: some({ text: 'a' }, { blob: 'AA' }), content: some({ text: 'a' }) },
      { requiredKeys: [] },
    ); // prettier-ignore
    const update = fc.record(
      {
        sessionUpdate: some('tool_call', 'tool_call_update', 'agent_message_chunk', 'agent_thought_chunk', 'plan', 'notice'),
        toolCallId: some('a', 'b', 'a:2', '\u0000'),
        status: some('pending', 'in_progress', 'completed', 'failed'),
        content: fc.oneof(content, fc.array(content)),
        messageId: some('m1', 'm2'),
        rawInput: some({}, { a: 1 }),
        _meta: some({ usage: { inputTokens: 1 } }, { x: { toolName: 'T', kind: 'warning' } }),
        locations: some([{ path: 'a' }]),
        entries: some([{ content: 'a' }]),
        title: some('t'),
      },
      { requiredKeys: ['sessionUpdate'] },
    ); // prettier-ignore
    const params = fc.oneof(fc.record({ sessionId: some('own', 'child'), update }), fc.anything());
    const step = fc.tuple(fc.constantFrom('update', 'asked'), params);
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), fc.anything(), (steps, response) => {
        const translation = new Translation(SETTINGS);
        const envelopes = steps.flatMap(([what, given]) =>
          what === 'update' ? translation.update(given) : translation.asked(given).envelopes,
        );
        envelopes.push(...translation.ended(response).envelopes);
        const ids = (type: string) =>
          envelopes.filter((each) => each.type === type).map(({ data }) => (data as { id: string }).id);
        expect(new Set(ids('tool_call')).size).toBe(ids('tool_call').length);
        expect(ids('tool_result').sort()).toEqual(ids('tool_call').sort());
      }),
    );
  });
});
