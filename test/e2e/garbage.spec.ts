import { concat, NEVER, Observable, of } from 'rxjs';
import { type HandlerFunction, message } from '../../src/index.js';
import { promise } from '../promises.js';
import { ask } from '../support/client.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';
import { OperatorLog } from '../support/operator-log.js';

const HI = 'data: {"type":"message","data":{"content":"Hi"}}\n\n';

/** The end of a run whose handler emitted something that is not an envelope. */
const refused = (what: string) =>
  `data: {"type":"done","data":{"status":"failed","error":{"code":"invalid_envelope","message":"The agent emitted something that is not an envelope: ${what}."}}}\n\n`;

const cycle: unknown[] = [];
cycle.push(cycle);
const explode = (): never => {
  throw new Error('password=hunter2');
};
const UNWRITABLE = 'its `data` contains a cycle, a BigInt, or something else that JSON cannot represent';

const GARBAGE: [string, unknown, string][] = [
  ['undefined', undefined, 'it is undefined, not an object'],
  ['null', null, 'it is null, not an object'],
  ['a string', 'Hi', 'it is a string, not an object'],
  ['a number', 1, 'it is a number, not an object'],
  ['a symbol', Symbol('Hi'), 'it is a symbol, not an object'],
  ['a function', explode, 'it is a function, not an object'],
  ['an array', [message('Hi')], 'its `type` is not a non-empty string'],
  ['no type', { data: {} }, 'its `type` is not a non-empty string'],
  ['an empty type', { type: '', data: {} }, 'its `type` is not a non-empty string'],
  ['a type that is no string', { type: 7, data: {} }, 'its `type` is not a non-empty string'],
  [
    'a done of its own',
    { type: 'done', data: { status: 'completed' } },
    'the type `done` is reserved for the end of the run',
  ],
  ['a message without content', { type: 'message', data: {} }, 'a `message` needs `data.content`, a string'],
  ['a message without data', { type: 'message' }, 'a `message` needs `data.content`, a string'],
  [
    'a message whose content is no string',
    { type: 'message', data: { content: 1 } },
    'a `message` needs `data.content`, a string',
  ],
  ['a log without message', { type: 'log', data: 'Hi' }, 'a `log` needs `data.message`, a string'],
  [
    'a message whose id is no string',
    { type: 'message', data: { content: 'Hi', id: 1 } },
    '`data.id` of a `message` must be a string',
  ],
  [
    'reasoning without content',
    { type: 'reasoning', data: {} },
    'a `reasoning` needs `data.content`, a string',
  ],
  [
    'a tool call without arguments',
    { type: 'tool_call', data: { id: '1', name: 'n' } },
    'a `tool_call` needs `data.arguments`, a value that JSON can represent',
  ],
  [
    'a tool result whose isError is a text',
    { type: 'tool_result', data: { id: '1', content: null, isError: 'no' } },
    '`data.isError` of a `tool_result` must be true or false',
  ],
  ['a source without url', { type: 'source', data: null }, 'a `source` needs `data.url`, a string'],
  [
    'suggestions without any',
    { type: 'suggestions', data: { items: [] } },
    'a `suggestions` needs `data.items`, an array of 1 to 8 requests with a `text`, and optionally a `label` and `files`',
  ],
  [
    'progress that is negative',
    { type: 'progress', data: { done: -1 } },
    'a `progress` needs `data.done`, a number from 0',
  ],
  [
    'usage that is no number',
    { type: 'usage', data: { inputTokens: 1, outputTokens: NaN } },
    'a `usage` needs `data.outputTokens`, a number from 0',
  ],
  ['no data', { type: 'x' }, 'its `data` is undefined, which JSON cannot represent'],
  [
    'a function as data',
    { type: 'x', data: explode },
    'its `data` is a function, which JSON cannot represent',
  ],
  [
    'a symbol as data',
    { type: 'x', data: Symbol('x') },
    'its `data` is a symbol, which JSON cannot represent',
  ],
  ['a BigInt', { type: 'x', data: { n: 1n } }, UNWRITABLE],
  ['a cycle', { type: 'x', data: cycle }, UNWRITABLE],
  ['a toJSON that throws', { type: 'x', data: { toJSON: explode } }, UNWRITABLE],
  [
    'a getter that throws',
    { type: 'x', data: Object.defineProperty({}, 'a', { get: explode, enumerable: true }) },
    UNWRITABLE,
  ],
  [
    '10 MB in one envelope',
    message('x'.repeat(10e6)),
    'its data is 10000014 characters of JSON, more than the 4194304 allowed',
  ],
];

/** Unusual values that JSON can hold. */
const STRANGE: [string, unknown, string][] = [
  [
    'other members of a standard type',
    { type: 'source', data: { url: 'u', rank: [1] } },
    '{"type":"source","data":{"url":"u","rank":[1]}}',
  ],
  ['null as data', { type: 'x', data: null }, '{"type":"x","data":null}'],
  [
    'members besides type and data, which are left out',
    { type: 'x', data: 1, id: 7 },
    '{"type":"x","data":1}',
  ],
  [
    'a type with quotes and line breaks',
    { type: 'a"\n\u2028', data: 1 },
    '{"type":"a\\"\\n\\u2028","data":1}',
  ],
  ['lone surrogates', message('a\ud800'), '{"type":"message","data":{"content":"a\\ud800"}}'],
  ['a NUL', message('a\0'), '{"type":"message","data":{"content":"a\\u0000"}}'],
  ['a date', { type: 'x', data: new Date(0) }, '{"type":"x","data":"1970-01-01T00:00:00.000Z"}'],
  ['no number', { type: 'x', data: NaN }, '{"type":"x","data":null}'],
  [
    'an envelope of 4 MB',
    message('x'.repeat(4e6)),
    `{"type":"message","data":{"content":"${'x'.repeat(4e6)}"}}`,
  ],
];

describeOnOneAdapter('A handler on %s', (adapter) => {
  let host: Host;
  let log: OperatorLog;
  let handler: HandlerFunction;
  beforeAll(async () => {
    host = await startAgent(adapter, (query, context) => handler(query, context));
  });
  beforeEach(() => (log = OperatorLog.of(host.app)));
  afterEach(() =>
    expect(host.agent.load()).toEqual({ running: 0, waiting: 0, asking: 0, followers: 0, overdue: 0 }),
  );
  afterAll(() => host.close());

  const read = async (next: unknown) => {
    handler = next as HandlerFunction;
    return (await ask(host.url)).whole();
  };

  it.each(GARBAGE)(promise('end.invalid-envelope', '%s'), async (_, garbage, what) => {
    const generator = async function* () {
      yield message('Hi');
      yield garbage;
      yield message('never');
    };
    expect(await read(generator)).toBe(HI + refused(what));
    expect(await read(() => concat(of(message('Hi'), garbage, message('never')), NEVER))).toBe(
      HI + refused(what),
    );
    expect(log.troubles).toHaveLength(2);
    expect(log.troubles[0]).toMatch(/^error Run \S+: The agent emitted something that is not an envelope: /);
  });

  it.each(STRANGE)(promise('stream.other-types', '%s'), async (_, envelope, expected) => {
    expect(await read(() => of(envelope))).toBe(
      `data: ${expected}\n\ndata: {"type":"done","data":{"status":"completed"}}\n\n`,
    );
    expect(log.troubles).toEqual([]);
  });

  it(promise('end.invalid-envelope', 'the handler is asked to stop, and can clean up'), async () => {
    const seen: string[] = [];
    const generator = async function* (_query: unknown, { signal }: { signal: AbortSignal }) {
      signal.addEventListener('abort', () => seen.push('signal'));
      try {
        yield null;
      } finally {
        seen.push('finally');
      }
    };
    expect(await read(generator)).toBe(refused('it is null, not an object'));
    expect(seen).toEqual(['signal', 'finally']);
  });

  it(promise('end.invalid-envelope', 'also where the handler throws while it cleans up'), async () => {
    const generator = async function* () {
      try {
        yield null;
      } finally {
        explode();
      }
    };
    expect(await read(generator)).toBe(refused('it is null, not an object'));
    const observable = new Observable((subscriber) => {
      subscriber.next(null);
      return explode;
    });
    expect(await read(() => observable)).toBe(refused('it is null, not an object'));
  });
});

describeOnOneAdapter('A handler that never stops on %s', (adapter) => {
  it(
    promise('end.invalid-envelope', 'also where the handler never stops, which the log reports'),
    async () => {
      const host = await startAgent(
        adapter,
        async function* () {
          try {
            yield null as never;
          } finally {
            await new Promise(() => undefined);
          }
        },
        { runs: { stopDeadlineMs: 20 } },
      );
      const log = OperatorLog.of(host.app);
      expect(await (await ask(host.url)).whole()).toBe(refused('it is null, not an object'));
      expect(host.agent.load()).toEqual({ running: 0, waiting: 0, asking: 0, followers: 0, overdue: 1 });
      expect(log.troubles[1]).toContain('the handler still executes 20 ms after its signal was aborted');
      await host.close();
    },
  );
});
