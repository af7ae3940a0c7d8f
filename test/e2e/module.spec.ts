import { jest } from '@jest/globals';
import {
  Injectable,
  Logger,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import { of } from 'rxjs';
import {
  AgentHandler,
  AgentService,
  type Envelope,
  message,
  type Query,
  QueryModule,
  type QueryModuleOptions,
} from '../../src/index.js';
import { TestClock } from '../../src/testing/index.js';
import { promise } from '../promises.js';
import {
  adapterNamed,
  ADAPTERS,
  describeOnBothAdapters,
  describeOnOneAdapter,
  type Host,
  listen,
  startClockedAgent,
  startHost,
} from '../support/host.js';
import { ask, FULL, request } from '../support/client.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

const DONE = 'data: {"type":"done","data":{"status":"completed"}}\n\n';
const says = (content: string) => `data: {"type":"message","data":{"content":"${content}"}}\n\n` + DONE;

@Injectable()
class Greeting {
  readonly word: string = 'Hello from the host';
}

@Module({ providers: [Greeting], exports: [Greeting] })
class GreetingModule {}

@Injectable()
class GreetingHandler
  extends AgentHandler
  implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown
{
  static hooks: string[] = [];

  constructor(private readonly greeting: Greeting) {
    super();
  }

  async *handle(_query: Query) {
    yield message(this.greeting.word);
  }

  onModuleInit = () => void GreetingHandler.hooks.push('init');
  onApplicationBootstrap = () => void GreetingHandler.hooks.push('bootstrap');
  onModuleDestroy = () => void GreetingHandler.hooks.push('destroy');
  onApplicationShutdown = () => void GreetingHandler.hooks.push('shutdown');
}

@Injectable()
class GreetingOptions {
  createQueryOptions(): QueryModuleOptions {
    return { handler: GreetingHandler };
  }
}

@Module({
  imports: [GreetingModule],
  providers: [GreetingOptions],
  exports: [GreetingOptions, GreetingModule],
})
class OptionsModule {}

class ArrowHandler {
  handle = async function* () {
    yield message('Hello from an arrow');
  };
}

async function answerOf(host: Host, accept?: string): Promise<string> {
  const answer = await ask(host.url, 'Hello', { headers: accept === undefined ? {} : { accept } });
  return answer.whole();
}

describe('The module', () => {
  it.each([
    [
      'a class with dependencies of the host',
      { handler: GreetingHandler, imports: [GreetingModule] },
      'Hello from the host',
    ],
    [
      'an instance',
      { handler: new GreetingHandler({ word: 'Hello from an instance' }) },
      'Hello from an instance',
    ],
    ['an object', { handler: { handle: () => of(message('Hello from an object')) } }, 'Hello from an object'],
    [
      'a generator function',
      {
        handler: async function* () {
          yield message('Hello from a function');
        },
      },
      'Hello from a function',
    ],
    ['an arrow function', { handler: () => of(message('Hello from an arrow')) }, 'Hello from an arrow'],
    ['a class whose handle is a property', { handler: ArrowHandler }, 'Hello from an arrow'],
  ])(promise('module.handlers', '%s'), async (_, options, expected) => {
    const host = await startHost('express', QueryModule.forRoot(options));
    expect(await answerOf(host)).toBe(says(expected));
    await host.close();
  });

  it.each([
    [
      'a factory with what it injects',
      {
        imports: [GreetingModule],
        inject: [Greeting],
        useFactory: (greeting: Greeting) => ({ handler: new GreetingHandler(greeting) }),
      },
    ],
    [
      'a factory that waits, and names a class',
      { imports: [GreetingModule], useFactory: async () => ({ handler: GreetingHandler }) },
    ],
    [
      'a factory, with the handler beside it',
      {
        handler: GreetingHandler,
        imports: [GreetingModule],
        useFactory: () => ({ runs: { timeoutMs: 5_000 } }),
      },
    ],
    ['a class of options', { imports: [GreetingModule], useClass: GreetingOptions }],
    ['options that exist', { imports: [OptionsModule], useExisting: GreetingOptions }],
  ])(promise('module.async-options', '%s'), async (_, options) => {
    const host = await startHost('express', QueryModule.forRootAsync(options));
    expect(await answerOf(host)).toBe(says('Hello from the host'));
    await host.close();
  });

  it.each([
    ['now', QueryModule.forRoot({ handler: GreetingHandler, imports: [GreetingModule] })],
    [
      'later',
      QueryModule.forRootAsync({
        imports: [GreetingModule],
        useFactory: () => ({ handler: GreetingHandler }),
      }),
    ],
  ])(promise('module.lifecycle', '%s'), async (_, module) => {
    GreetingHandler.hooks = [];
    const host = await startHost('express', module);
    expect(await answerOf(host)).toBe(says('Hello from the host'));
    await host.close();
    expect(GreetingHandler.hooks).toEqual(['init', 'bootstrap', 'destroy', 'shutdown']);
  });

  it.each([
    ['undefined', undefined],
    ['an object without handle', {}],
    ['an envelope', message('Hi')],
  ])(promise('module.invalid-handler', '%s'), async (_, handler) => {
    const sentence =
      'QueryModule: the option "handler" must be a class, an object with a method "handle", or a function.';
    const start = (module: ReturnType<typeof QueryModule.forRoot>) => startHost('express', module);
    await expect((async () => start(QueryModule.forRoot({ handler } as never)))()).rejects.toThrow(sentence);
    await expect(
      start(QueryModule.forRootAsync({ useFactory: () => ({ handler }) as never })),
    ).rejects.toThrow(sentence);
  });

  it.each<[object, string]>([
    [{ runs: { timeoutMs: NaN } }, 'runs.timeoutMs is NaN; it must be a whole number from 1 to 2147483647.'],
    [
      { runs: { timeoutMs: Infinity } },
      'runs.timeoutMs is Infinity; it must be a whole number from 1 to 2147483647.',
    ],
    [
      { runs: { timeoutMs: 30 * 86_400_000 } },
      'runs.timeoutMs is 2592000000; it must be a whole number from 1 to 2147483647.',
    ],
    [{ runs: { timeoutMs: '5' } }, 'runs.timeoutMs is "5"; it must be a whole number from 1 to 2147483647.'],
    [
      { runs: { sessionPolicy: 'queue' } },
      'runs.sessionPolicy is "queue"; it must be "enqueue", "reject" or "interrupt".',
    ],
    [
      { runs: { disconnect: { graceMs: -1 } } },
      'runs.disconnect is {"graceMs":-1}; it must be "continue", "cancel" or { graceMs: a whole number from 0 to 2147483647 }.',
    ],
    [{ limits: { parts: 0 } }, 'limits.parts is 0; it must be a whole number from 1 to 1000000.'],
    [{ streams: { keepAlive: 5 } }, 'streams.keepAlive is not an option. Did you mean streams.keepAliveMs?'],
    [{ budget: [] }, 'budget is not an option. Did you mean budgets?'],
    [{ webhooks: { endpoint: [] } }, 'webhooks.endpoint is not an option. Did you mean webhooks.endpoints?'],
    [
      { runs: { disconnect: { graceMs: 5, cancel: true } } },
      'runs.disconnect is {"graceMs":5,"cancel":true}; it must be "continue", "cancel" or { graceMs: a whole number from 0 to 2147483647 }.',
    ],
    [{ retention: {} }, 'retention is not an option.'],
    [{ runs: { toString: 5 } }, 'runs.toString is not an option.'],
    [{ rejectMismatchedTypes: 'false' }, 'rejectMismatchedTypes is "false"; it must be true or false.'],
    [{ spoolDirectory: 5 }, 'spoolDirectory is 5; it must be the path of a directory.'],
    [{ owner: 'ann' }, 'owner is "ann"; it must be a function.'],
  ])(promise('module.options', '%j'), async (options, sentence) => {
    const invalid = QueryModule.forRoot({ handler: stub, ...options });
    await expect(startHost('express', invalid)).rejects.toThrow(
      `QueryModule cannot start with these options:\n${sentence}`,
    );
  });

  it(promise('module.options', 'undefined'), async () => {
    const options = {
      limits: { parts: undefined },
      runs: { timeoutMs: undefined },
      owner: undefined,
    } as object;
    const host = await startHost('express', QueryModule.forRoot({ handler: stub, ...options }));
    expect(await answerOf(host)).toBe(PLAIN);
    await host.close();
  });

  it(promise('module.invalid-handler', 'a handler beside the factory and by the factory'), async () => {
    const twice = {
      handler: GreetingHandler,
      imports: [GreetingModule],
      useFactory: () => ({ handler: stub }),
    };
    await expect(startHost('express', QueryModule.forRootAsync(twice))).rejects.toThrow(
      'QueryModule: the handler is given beside the factory and by the factory. Remove one of them.',
    );
  });

  it(
    promise(
      'module.async-options',
      'a class that only the factory names is reported, since tests cannot override it',
    ),
    async () => {
      const module = QueryModule.forRootAsync({
        imports: [GreetingModule],
        useFactory: () => ({ handler: GreetingHandler }),
      });
      const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
      const host = await startHost('express', module);
      expect(warn.mock.calls).toEqual([
        [
          'The factory of forRootAsync returned the handler class GreetingHandler, so overrideProvider(GreetingHandler) has no ' +
            'effect in tests. Give the class beside the factory: forRootAsync({ handler, useFactory }).',
        ],
      ]);
      warn.mockRestore();
      await host.close();
    },
  );

  it(promise('module.global'), async () => {
    @Injectable()
    class Elsewhere {
      constructor(readonly agent: AgentService) {}
    }
    @Module({ providers: [Elsewhere] })
    class ElsewhereModule {}
    const startWith = (isGlobal: boolean) => {
      @Module({
        imports: [ElsewhereModule, QueryModule.forRoot({ handler: () => of(message('Hi')), isGlobal })],
      })
      class AppModule {}
      return startHost('express', AppModule);
    };
    const host = await startWith(true);
    expect(host.app.get(Elsewhere, { strict: false }).agent).toBe(host.agent);
    await host.close();
    await expect(startWith(false)).rejects.toThrow("can't resolve dependencies of the Elsewhere");
  });

  it(promise('module.two-paths'), async () => {
    @Module({
      imports: [
        QueryModule.forRoot({ path: 'cats', handler: () => of(message('Meow')), limits: { parts: 1 } }),
        QueryModule.forRoot({ path: 'deep/dogs', handler: () => of(message('Wuff')) }),
      ],
    })
    class PetsModule {}
    for (const adapter of ADAPTERS) {
      const host = await startHost(adapter, PetsModule);
      const cats = await ask(host.url, 'Hello', { path: '/cats' });
      expect(await cats.whole()).toBe(says('Meow'));
      const dogs = await ask(host.url, 'Hello', { path: '/deep/dogs' });
      expect(await dogs.whole()).toBe(says('Wuff'));
      expect(dogs.headers['content-location']).toMatch(/^\/deep\/dogs\/[0-9a-f-]{36}$/);
      const two = JSON.stringify({
        parts: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      });
      const statusAt = async (path: string) => (await request(host.url, { path }, two)).status;
      expect([await statusAt('/cats'), await statusAt('/deep/dogs')]).toEqual([413, 200]);
      await host.close();
    }
  });
});

const ENVELOPES: Envelope[] = [
  { type: 'message', data: { content: 'Stub' } },
  { type: 'log', data: { message: 'stubbed' } },
];
const PLAIN =
  'data: {"type":"message","data":{"content":"Stub"}}\n\ndata: {"type":"log","data":{"message":"stubbed"}}\n\n' +
  DONE;
const stub = { handle: () => of(...ENVELOPES) };

describeOnOneAdapter('In a testing module on %s', (adapter) => {
  const module = () =>
    Test.createTestingModule({
      imports: [QueryModule.forRoot({ handler: GreetingHandler, imports: [GreetingModule] })],
    });

  const start = async (builder: TestingModuleBuilder) => {
    const testing = await builder.compile();
    return listen(testing.createNestApplication(adapterNamed(adapter) as never, { logger: false }));
  };

  it.each<[string, () => TestingModuleBuilder]>([
    ['the handler, by its class', () => module().overrideProvider(GreetingHandler).useValue(stub)],
    [
      'the handler of forRootAsync, by its class',
      () =>
        Test.createTestingModule({
          imports: [
            QueryModule.forRootAsync({
              handler: GreetingHandler,
              imports: [GreetingModule],
              useFactory: () => ({}),
            }),
          ],
        })
          .overrideProvider(GreetingHandler)
          .useValue(stub),
    ],
    ['the handler, by its port', () => module().overrideProvider(AgentHandler).useValue(stub)],
    [
      'the service',
      () =>
        module()
          .overrideProvider(AgentService)
          .useValue({ query: () => of(...ENVELOPES) }),
    ],
    [
      'the service, by one that ends its stream itself',
      () =>
        module()
          .overrideProvider(AgentService)
          .useValue({ query: () => of(...ENVELOPES, { type: 'done', data: { status: 'completed' } }) }),
    ],
  ])(promise('module.testing', '%s, in each profile'), async (_, build) => {
    const host = await start(build());
    expect(await answerOf(host)).toBe(PLAIN);
    const full = await answerOf(host, 'text/event-stream');
    expect(full.startsWith('retry: 1000\n')).toBe(true);
    expect(full.slice('retry: 1000\n'.length).replace(/^id: [0-9a-f-]{36}\.[123]\n/gm, '')).toBe(PLAIN);
    await host.close();
  });

  it(
    promise('end.one-done', 'also where a stub of AgentService emits something that is not an envelope'),
    async () => {
      for (const garbage of [() => of(null), () => of({ type: 'x', data: 1n })]) {
        const host = await start(module().overrideProvider(AgentService).useValue({ query: garbage }));
        expect(await answerOf(host)).toMatch(
          /^data: {"type":"done","data":{"status":"failed","error":{"code":"\w+","message":"[^"]+"}}}\n\n$/,
        );
        await host.close();
      }
    },
  );
});

describeOnBothAdapters('The bodies of a testing module on %s', (adapter) => {
  it(promise('module.testing-bodies'), async () => {
    const agent = new ScriptedAgent();
    const host = await startClockedAgent(adapter, new TestClock(), agent.handler);
    // The limit of Express's parser is 100 kB, that of Fastify 1 MiB.
    const asked = await ask(host.url, 'x'.repeat(2 << 20));
    expect(asked.status).toBe(200);
    (await agent.call(1)).finish();
    expect(await asked.whole()).toBe(DONE);
    // A resume with a content type and no body: a parser of JSON would refuse it.
    const resumed = await request(host.url, {
      headers: { ...FULL, 'last-event-id': `${asked.runId}.0` },
    });
    expect(await resumed.whole()).toBe(`retry: 1000\nid: ${asked.runId}.1\n${DONE}`);
    await host.close();
  });
});
