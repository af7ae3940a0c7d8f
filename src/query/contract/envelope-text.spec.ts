import { envelopeText } from './envelope-text.js';
import {
  log,
  message,
  progress,
  reasoning,
  source,
  suggestions,
  toolCall,
  toolResult,
  usage,
} from './envelopes.js';
import type { Envelope } from 'nest-agent-query-client';

const textOf = (envelope: unknown) => envelopeText(envelope, Infinity);
const faultOf = (type: string, data: unknown) => {
  try {
    return textOf({ type, data });
  } catch (error) {
    const { code, message: sentence } = error as { code: string; message: string };
    const [, fault] = /^The agent emitted something that is not an envelope: (.*)\.$/.exec(sentence)!;
    return `${code}: ${fault}`;
  }
};

const REQUESTS = 'an array of 1 to 8 requests with a `text`, and optionally a `label` and `files`';

describe('An envelope of a standard type', () => {
  const made: [Envelope, unknown][] = [
    [message('Hi'), { content: 'Hi' }],
    [message('Hi', { id: 'm1' }), { content: 'Hi', id: 'm1' }],
    [message('Hi', { id: undefined }), { content: 'Hi' }],
    [reasoning('So'), { content: 'So' }],
    [reasoning('So', { id: 'r1' }), { content: 'So', id: 'r1' }],
    [log('Hm'), { message: 'Hm' }],
    [toolCall('c1', 'add', { a: 1 }), { id: 'c1', name: 'add', arguments: { a: 1 } }],
    [toolCall('c1', 'now'), { id: 'c1', name: 'now', arguments: {} }],
    [toolResult('c1', null), { id: 'c1', content: null }],
    [toolResult('c1', [2], { isError: true }), { id: 'c1', content: [2], isError: true }],
    [source('https://a.example'), { url: 'https://a.example' }],
    [source('https://a.example', { title: 'A' }), { url: 'https://a.example', title: 'A' }],
    [suggestions([{ text: 'a' }]), { items: [{ text: 'a' }] }],
    [
      suggestions([
        { text: 'a', label: 'A', files: [{ name: 'a.txt', mimeType: 'text/plain', base64: 'YQ==' }] },
      ]),
      {
        items: [
          { text: 'a', label: 'A', files: [{ name: 'a.txt', mimeType: 'text/plain', base64: 'YQ==' }] },
        ],
      },
    ],
    [progress(0), { done: 0 }],
    [
      progress(1.5, { total: 3, unit: 's', label: 'Wait' }),
      { done: 1.5, total: 3, unit: 's', label: 'Wait' },
    ],
    [usage({ inputTokens: 1, outputTokens: 0 }), { inputTokens: 1, outputTokens: 0 }],
    [
      usage({ inputTokens: 1, outputTokens: 2, reasoningTokens: 3, cachedInputTokens: 4, model: 'm' }),
      { inputTokens: 1, outputTokens: 2, reasoningTokens: 3, cachedInputTokens: 4, model: 'm' },
    ],
  ];

  it.each(made)('is what its constructor makes: %j', (envelope, data) => {
    expect(JSON.parse(textOf(envelope))).toEqual({ type: envelope.type, data });
  });

  it.each(made)('has a shape that its other members do not change: %j', ({ type, data }) => {
    const more = { ...(data as object), more: { of: ['it'] } };
    expect(JSON.parse(textOf({ type, data: more }))).toEqual({ type, data: more });
  });

  it('is made of texts with map, whose second argument is an index', () => {
    expect(['a', 'b'].map(message)).toEqual([message('a'), message('b')]);
    expect(['a', 'b'].map(reasoning)).toEqual([reasoning('a'), reasoning('b')]);
  });

  const call = { id: 'c', name: 'n', arguments: 1 };
  const used = { inputTokens: 1, outputTokens: 1 };
  const wrong: [string, unknown, string][] = [
    ['message', {}, 'a `message` needs `data.content`, a string'],
    ['message', { content: 'Hi', id: null }, '`data.id` of a `message` must be a string'],
    ['reasoning', [], 'a `reasoning` needs `data.content`, a string'],
    ['reasoning', { content: '', id: 1 }, '`data.id` of a `reasoning` must be a string'],
    ['log', null, 'a `log` needs `data.message`, a string'],
    ['tool_call', null, 'a `tool_call` needs `data.id`, a string'],
    ['tool_call', { ...call, name: 1 }, 'a `tool_call` needs `data.name`, a string'],
    [
      'tool_call',
      { ...call, arguments: undefined },
      'a `tool_call` needs `data.arguments`, a value that JSON can represent',
    ],
    ['tool_call', Object.create(call), 'a `tool_call` needs `data.id`, a string'],
    ['tool_call', { toJSON: () => ({ id: 'c' }) }, 'a `tool_call` needs `data.name`, a string'],
    [
      'tool_result',
      { id: 'c', content: () => 1 },
      'a `tool_result` needs `data.content`, a value that JSON can represent',
    ],
    [
      'tool_result',
      { id: 'c', content: 1, isError: 1 },
      '`data.isError` of a `tool_result` must be true or false',
    ],
    ['source', 'https://a.example', 'a `source` needs `data.url`, a string'],
    ['source', { url: 'u', title: 1 }, '`data.title` of a `source` must be a string'],
    ...[
      {},
      { items: { text: 'a' } },
      { items: [] },
      { items: Array.from({ length: 9 }, () => ({ text: 'a' })) },
      { items: ['a'] },
      { items: [{ label: 'a' }] },
      { items: [{ text: 'a', label: 1 }] },
      { items: [{ text: 'a', files: {} }] },
      { items: [{ text: 'a', files: [{ name: 'a.txt', mimeType: 'text/plain' }] }] },
    ].map((data): [string, unknown, string] => [
      'suggestions',
      data,
      `a \`suggestions\` needs \`data.items\`, ${REQUESTS}`,
    ]),
    ['progress', { done: -1 }, 'a `progress` needs `data.done`, a number from 0'],
    ['progress', { done: 1, total: Infinity }, '`data.total` of a `progress` must be a number from 0'],
    ['progress', { done: 1, unit: 1 }, '`data.unit` of a `progress` must be a string'],
    ['progress', { done: 1, label: 1 }, '`data.label` of a `progress` must be a string'],
    ['usage', { inputTokens: '1' }, 'a `usage` needs `data.inputTokens`, a number from 0'],
    ['usage', { inputTokens: 1 }, 'a `usage` needs `data.outputTokens`, a number from 0'],
    [
      'usage',
      { ...used, reasoningTokens: NaN },
      '`data.reasoningTokens` of a `usage` must be a number from 0',
    ],
    [
      'usage',
      { ...used, cachedInputTokens: '1' },
      '`data.cachedInputTokens` of a `usage` must be a number from 0',
    ],
    ['usage', { ...used, model: 1 }, '`data.model` of a `usage` must be a string'],
  ];

  it.each(wrong)('with data of another shape is refused: %s %j', (type, data, fault) => {
    expect(faultOf(type, data)).toBe(`invalid_envelope: ${fault}`);
  });

  it('is checked as what toJSON makes of it', () => {
    const data = { toJSON: () => ({ url: 'u' }) };
    expect(textOf({ type: 'source', data })).toBe('{"type":"source","data":{"url":"u"}}');
  });

  it('is none if its type is the name of a member of every object', () => {
    expect(textOf({ type: 'constructor', data: 1 })).toBe('{"type":"constructor","data":1}');
  });
});
