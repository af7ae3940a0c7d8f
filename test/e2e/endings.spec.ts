import { concat, EMPTY, NEVER, Observable, of, Subject, throwError } from 'rxjs';
import { type HandlerFunction, message, QueryError, type QueryModuleOptions } from '../../src/index.js';
import { promise } from '../promises.js';
import { ask } from '../support/client.js';
import { deferred } from '../support/conditions.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';
import { OperatorLog } from '../support/operator-log.js';

type Handler = QueryModuleOptions['handler'];

const SECRET = 'password=hunter2 at /srv/app/secret.js';
const HI = 'data: {"type":"message","data":{"content":"Hi"}}\n\n';
const COMPLETED = 'data: {"type":"done","data":{"status":"completed"}}\n\n';
const FAILED =
  'data: {"type":"done","data":{"status":"failed","error":{"code":"handler_failed","message":"The agent failed. The service has logged the cause."}}}\n\n';

const fail = (): never => {
  throw new Error(SECRET);
};

const later = <T>(value: T) => new Promise<T>((resolve) => setImmediate(resolve, value));

/** Answers of handlers, and what the caller reads. */
const ANSWERS: [string, Handler, string][] = [
  ['an Observable', () => of(message('Hi')), HI + COMPLETED],
  ['a promise of an Observable', async () => later(of(message('Hi'))), HI + COMPLETED],
  [
    'an async generator',
    async function* () {
      yield later(message('Hi'));
    },
    HI + COMPLETED,
  ],
  [
    'a promise of an async iterable without return()',
    async () => {
      let left = 1;
      return {
        [Symbol.asyncIterator]: () => ({
          next: async () => (left-- > 0 ? { value: message('Hi') } : { done: true, value: undefined }),
        }),
      } as never;
    },
    HI + COMPLETED,
  ],
  ['a ReadableStream', () => new Blob(['']).stream() as never, COMPLETED],
];

/** Failures of handlers, and what the caller reads. The log of the service has the cause. */
const FAILURES: [string, Handler, string][] = [
  ['throws instead of answering', () => fail(), FAILED],
  ['rejects instead of answering', async () => later(0).then(fail), FAILED],
  ['answers with an Observable that fails at once', () => throwError(() => new Error(SECRET)), FAILED],
  [
    'answers with an Observable that throws when it is subscribed to',
    () => new Observable(() => fail()),
    FAILED,
  ],
  [
    'answers with an Observable that fails after an envelope',
    () =>
      concat(
        of(message('Hi')),
        throwError(() => new Error(SECRET)),
      ),
    HI + FAILED,
  ],
  [
    'is a generator that throws before its first envelope',
    async function* () {
      fail();
      yield message('never');
    },
    FAILED,
  ],
  [
    'is a generator that throws between envelopes',
    async function* () {
      yield message('Hi');
      fail();
      yield message('never');
    },
    HI + FAILED,
  ],
  [
    'is a generator that throws after its last envelope, some ticks later',
    async function* () {
      yield message('Hi');
      await later(0).then(fail);
    },
    HI + FAILED,
  ],
  [
    'is a generator whose finally block throws',
    async function* () {
      try {
        yield message('Hi');
      } finally {
        fail();
      }
    },
    HI + FAILED,
  ],
  [
    'answers with an iterable that throws when it is asked for its iterator',
    () => ({ [Symbol.asyncIterator]: fail }),
    FAILED,
  ],
  [
    'answers with an iterator whose next() throws',
    () => ({ [Symbol.asyncIterator]: () => ({ next: fail }) }),
    FAILED,
  ],
];

const WRONG_ANSWERS: [string, unknown][] = [
  ['undefined', undefined],
  ['null', null],
  ['a string', 'Hi'],
  ['an envelope', message('Hi')],
  ['an array of envelopes', [message('Hi')]],
  ['a function', async function* () {}],
];

const THROWN: [string, unknown][] = [
  ['undefined', undefined],
  ['null', null],
  ['a string', SECRET],
  ['a symbol', Symbol('secret')],
  ['an object without a prototype', Object.create(null)],
  ['an error whose stack cannot be read', Object.defineProperty(new Error(SECRET), 'stack', { get: fail })],
  ['a proxy that throws at every access', new Proxy({}, { get: fail, getPrototypeOf: fail })],
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

  it.each(ANSWERS)(promise('module.answers', '%s'), async (_, next, expected) => {
    expect(await read(next)).toBe(expected);
    expect(log.troubles).toEqual([]);
  });

  it.each<[string, Handler]>([
    ['an empty Observable', () => EMPTY],
    ['a generator without an envelope', async function* () {}],
  ])(promise('end.completed', '%s'), async (_, next) => {
    expect(await read(next)).toBe(COMPLETED);
    expect(log.troubles).toEqual([]);
  });

  it(promise('end.one-done', 'also where an Observable emits and fails after its end'), async () => {
    const handler = () =>
      new Observable((subscriber) => {
        subscriber.next(message('Hi'));
        subscriber.complete();
        subscriber.next(message('Too late'));
        subscriber.error(new Error(SECRET));
      });
    expect(await read(handler)).toBe(HI + COMPLETED);
    expect(log.troubles).toEqual([]);
  });

  it.each(FAILURES)(promise('end.failed', 'a handler that %s'), async (_, next, expected) => {
    expect(await read(next)).toBe(expected);
    expect(log.troubles).toEqual([
      expect.stringMatching(
        /^error Run [0-9a-f-]{36}: The handler failed\. Error: password=hunter2 .*\n\s+at /,
      ),
    ]);
  });

  it.each(WRONG_ANSWERS)(promise('end.failed', 'a handler that answers with %s'), async (_, answer) => {
    expect(await read(() => answer)).toBe(FAILED);
    expect(log.troubles[0]).toContain(
      'AgentHandler.handle returned neither an Observable nor an async iterable',
    );
  });

  it.each(THROWN)(promise('end.no-internals', 'a handler that throws %s'), async (_, thrown) => {
    expect(await read(() => throwError(() => thrown))).toBe(FAILED);
    expect(log.troubles).toHaveLength(1);
  });

  it(promise('end.handler-error'), async () => {
    const refuse = () =>
      throwError(() => new QueryError('rate_limited', 'The model takes no more questions today.'));
    expect(await read(refuse)).toBe(
      'data: {"type":"done","data":{"status":"failed","error":{"code":"rate_limited","message":"The model takes no more questions today."}}}\n\n',
    );
    expect(log.troubles).toHaveLength(1);
  });
});

const TIMED_OUT =
  'data: {"type":"done","data":{"status":"failed","error":{"code":"run_timeout","message":"The run was stopped after 0.03 s, the time limit of a run."}}}\n\n';

describeOnOneAdapter('A run that takes too long on %s', (adapter) => {
  const runs = { timeoutMs: 30, stopDeadlineMs: 30 };

  it.each<[string, Handler, boolean]>([
    ['an Observable', () => concat(of(message('Hi')), NEVER), true],
    [
      'a generator that watches its signal',
      async function* (_query, { signal }) {
        yield message('Hi');
        await new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(new Error('aborted'))),
        );
      },
      true,
    ],
    [
      'a generator that ignores its signal',
      async function* () {
        yield message('Hi');
        await new Promise(() => undefined);
      },
      false,
    ],
    [
      'an iterator whose return() throws',
      () => {
        let left = 1;
        const next = () =>
          left-- > 0 ? Promise.resolve({ value: message('Hi') }) : new Promise(() => undefined);
        return { [Symbol.asyncIterator]: () => ({ next, return: fail }) } as never;
      },
      true,
    ],
    [
      'an Observable whose teardown throws',
      () =>
        new Observable((subscriber) => {
          subscriber.next(message('Hi'));
          return fail;
        }),
      true,
    ],
  ])(promise('end.timeout', '%s'), async (_, handler, stops) => {
    const host = await startAgent(adapter, handler, { runs });
    const log = OperatorLog.of(host.app);
    expect(await (await ask(host.url)).whole()).toBe(HI + TIMED_OUT);
    expect(host.agent.load()).toEqual({
      running: 0,
      waiting: 0,
      asking: 0,
      followers: 0,
      overdue: stops ? 0 : 1,
    });
    expect(
      log.troubles.filter((line) => line.includes('the handler still executes 30 ms after its signal')),
    ).toHaveLength(stops ? 0 : 1);
    await host.close();
  });

  it(
    promise('end.timeout', 'before the handler has answered; its late answer is not subscribed to'),
    async () => {
      const answer = deferred<Observable<never>>();
      const late = new Subject<never>();
      const host = await startAgent(adapter, () => answer.promise, { runs });
      expect(await (await ask(host.url)).whole()).toBe(TIMED_OUT);
      answer.resolve(late);
      await later(0);
      expect(late.observed).toBe(false);
      expect(host.agent.load().overdue).toBe(0);
      await host.close();
    },
  );
});
