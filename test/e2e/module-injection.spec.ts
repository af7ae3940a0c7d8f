import { jest } from '@jest/globals';
import { type DynamicModule, Inject, Injectable, Module, type Provider, type Type } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { of } from 'rxjs';
import * as core from '../../src/index.js';
import {
  AgentHandler,
  AgentService,
  getAgentToken,
  type HandlerFunction,
  MemoryRunStore,
  message,
  QueryModule,
  RunStore,
} from '../../src/index.js';
import { Clock } from '../../src/testing/index.js';
import { promise } from '../promises.js';
import { ask, get } from '../support/client.js';
import { adapterNamed, describeOnOneAdapter, listen, startHost } from '../support/host.js';

const handler: HandlerFunction = () => of(message('Hi'));

/** Nest 12 finds a circle itself, and has a sentence of its own. */
const CIRCLE =
  /these providers wait for each other: AgentService → .+ → AgentService\. |circular dependency has been detected/;

const CLASSES = Object.entries({ ...core, Clock }).filter(
  (entry): entry is [string, Type] =>
    typeof entry[1] === 'function' && /^class\b/.test(Function.prototype.toString.call(entry[1])),
);

/** A module of the host that exports providers. */
function exporting(...providers: Provider[]): DynamicModule {
  class HostModule {}
  return { module: HostModule, providers, exports: providers };
}

@Injectable()
class Audit {
  constructor(readonly agent: AgentService) {}
}

@Injectable()
class LateAudit {
  constructor(private readonly modules: ModuleRef) {}

  get agent(): AgentService {
    return this.modules.get(AgentService, { strict: false });
  }
}

@Injectable()
class AuditProperty {
  @Inject(AgentService) readonly agent!: AgentService;
}

@Injectable()
class AuditListener {
  constructor(readonly agent: AgentService) {}
}

describeOnOneAdapter('What a factory injects, in a host on %s', (adapter) => {
  it(promise('module.injected', 'there are such classes'), () => {
    const names = CLASSES.map(([name]) => name);
    expect(names).toEqual(
      expect.arrayContaining(['RunStore', 'AgentHandler', 'AgentService', 'FileStore', 'UsageStore']),
    );
    expect(names).toEqual(
      expect.arrayContaining(['InputStore', 'UploadStore', 'Signals', 'Dispatcher', 'RunTracer', 'Clock']),
    );
  });

  it.each(CLASSES)(promise('module.injected', '%s of the host'), async (_, token) => {
    const given = { of: 'the host' };
    const useFactory = jest.fn((_: unknown) => ({ handler }));
    const imports = [exporting({ provide: token, useValue: given })];
    const host = await startHost(adapter, QueryModule.forRootAsync({ imports, inject: [token], useFactory }));
    expect(useFactory.mock.calls).toEqual([[given]]);
    expect(await (await ask(host.url, 'Hello')).whole()).toContain('"content":"Hi"');
    await host.close();
  });

  it(promise('module.injected', 'a store that a class of options injects'), async () => {
    const store = new MemoryRunStore();
    @Injectable()
    class Options {
      constructor(private readonly shared: RunStore) {}
      createQueryOptions = () => ({ store: this.shared, handler });
    }
    const imports = [exporting({ provide: RunStore, useValue: store })];
    const admit = jest.spyOn(store, 'admit');
    const host = await startHost(adapter, QueryModule.forRootAsync({ imports, useClass: Options }));
    await (await ask(host.url, 'Hello')).whole();
    expect(admit).toHaveBeenCalledTimes(1);
    await host.close();
  });

  it(
    promise('module.shared-store', 'the store of a module of the host, which factories inject'),
    async () => {
      const stores = exporting({ provide: RunStore, useFactory: async () => new MemoryRunStore() });
      const moduleOf = (name: string) =>
        QueryModule.forRootAsync({
          name,
          path: name,
          imports: [stores],
          inject: [RunStore],
          useFactory: (store: RunStore) => ({ store, handler: () => of(message(name)) }),
        });
      @Module({ imports: [moduleOf('research'), moduleOf('support')] })
      class AppModule {}
      const testing = await Test.createTestingModule({ imports: [AppModule] }).compile();
      const app = testing.createNestApplication(adapterNamed(adapter), { logger: false });
      await app.listen(0, '127.0.0.1');
      const url = await app.getUrl();
      const research = await ask(url, 'Hello', { path: '/research' });
      expect(await research.whole()).toContain('"content":"research"');
      const id = String(research.headers['content-location']).split('/').at(-1)!;
      expect((await get(url, `/research/${id}`)).status).toBe(200);
      expect((await get(url, `/support/${id}`)).status).toBe(404);
      await app.close();
    },
  );

  it(promise('module.injected', 'its own AgentService is refused'), async () => {
    const module = QueryModule.forRootAsync({ inject: [AgentService], useFactory: () => ({ handler }) });
    await expect(startHost(adapter, module)).rejects.toThrow('the argument AgentService at index [0]');
  });

  it.each<[string, () => DynamicModule]>([
    [
      'its own AgentService, which is global',
      () =>
        QueryModule.forRootAsync({
          isGlobal: true,
          inject: [AgentService],
          useFactory: () => ({ handler }),
        }),
    ],
    ...[Audit, AuditProperty].map((type): [string, () => DynamicModule] => [
      `${type.name}, which needs the module`,
      () =>
        QueryModule.forRootAsync({
          isGlobal: true,
          imports: [exporting(type)],
          inject: [type],
          useFactory: () => ({ handler }),
        }),
    ]),
    [
      'a listener that needs the module',
      () => QueryModule.forRoot({ handler, listeners: [AuditListener as never] }),
    ],
    [
      'the services of two modules that inject each other',
      () => {
        const moduleOf = (name: string, other: string) =>
          QueryModule.forRootAsync({
            name,
            path: name,
            isGlobal: true,
            inject: [getAgentToken(other)],
            useFactory: () => ({ handler }),
          });
        class Both {}
        return { module: Both, imports: [moduleOf('a', 'b'), moduleOf('b', 'a')] };
      },
    ],
  ])(promise('module.injected', '%s: an error at the start'), async (_, module) => {
    await expect(startHost(adapter, module())).rejects.toThrow(CIRCLE);
  });

  it(promise('module.injected', 'what finds the module when it is used'), async () => {
    const module = QueryModule.forRootAsync({
      isGlobal: true,
      imports: [exporting(LateAudit)],
      inject: [LateAudit],
      useFactory: (audit: LateAudit) => ({ handler: () => of(message(String(audit.agent.load().running))) }),
    });
    const host = await startHost(adapter, module);
    expect(await (await ask(host.url, 'Hello')).whole()).toContain('"content":"1"');
    await host.close();
  });

  it.each<[string, (store: RunStore) => DynamicModule]>([
    ['of its own', () => QueryModule.forRoot({ handler })],
    ['that the host has given', () => QueryModule.forRoot({ handler, store: new MemoryRunStore() })],
    [
      'that its factory injects',
      () =>
        QueryModule.forRootAsync({
          imports: [exporting({ provide: RunStore, useFactory: () => new MemoryRunStore() })],
          inject: [RunStore],
          useFactory: (store: RunStore) => ({ store, handler }),
        }),
    ],
  ])(promise('module.testing', 'the store %s'), async (_, module) => {
    const store = new MemoryRunStore();
    const admit = jest.spyOn(store, 'admit');
    const testing = await Test.createTestingModule({ imports: [module(store)] })
      .overrideProvider(RunStore)
      .useValue(store)
      .compile();
    const app = testing.createNestApplication(adapterNamed(adapter), { logger: false });
    const host = await listen(app);
    expect(await (await ask(host.url, 'Hello')).whole()).toContain('"content":"Hi"');
    expect(admit).toHaveBeenCalledTimes(1);
    await host.close();
  });
});

describeOnOneAdapter('A store that is opened while the application starts, on %s', (adapter) => {
  const start = (options: object) =>
    startHost(adapter, QueryModule.forRoot({ handler, ...options } as never));
  const startLater = (options: object) =>
    startHost(adapter, QueryModule.forRootAsync({ useFactory: () => ({ handler, ...options }) }));

  it.each([
    ['forRoot', start],
    ['forRootAsync', startLater],
  ])(promise('module.opened', '%s'), async (_, startWith) => {
    const store = new MemoryRunStore();
    const admit = jest.spyOn(store, 'admit');
    const host = await startWith({ store: Promise.resolve(store), tracer: Promise.resolve(undefined) });
    expect(await (await ask(host.url, 'Hello')).whole()).toContain('"content":"Hi"');
    expect(admit).toHaveBeenCalledTimes(1);
    await host.close();

    const rejected = { store: Promise.reject(new Error('The database is away.')) };
    await expect(startWith(rejected)).rejects.toThrow('The database is away.');
    await expect(startWith({ store: Promise.resolve(undefined) })).rejects.toThrow(
      'QueryModule cannot start with these options:\nstore is null; it must be a store, such as await openStore(url).',
    );
    await expect(startWith({ store: 'file:runs.db' })).rejects.toThrow(
      'store is "file:runs.db"; it must be a store, such as await openStore(url).',
    );
    await expect(startWith({ limits: Promise.resolve({ parts: 1 }) })).rejects.toThrow(
      'QueryModule cannot start with these options:\nlimits is a promise: write await before it.',
    );
  });

  it(promise('module.opened', 'a promise that was rejected before the start'), async () => {
    const module = QueryModule.forRoot({
      handler,
      store: Promise.reject(new Error('The database is away.')),
    });
    // Node would end the process in the next turn of the event loop.
    await new Promise((resolve) => setTimeout(resolve, 10));
    await expect(startHost(adapter, module)).rejects.toThrow('The database is away.');
  });

  it(promise('module.invalid-handler', 'a promise'), async () => {
    await expect(start({ handler: Promise.resolve(handler) })).rejects.toThrow(
      'QueryModule cannot start with these options:\nhandler is a promise: write await before it.',
    );
    await expect(startLater({ handler: Promise.resolve(handler) })).rejects.toThrow(
      'QueryModule cannot start with these options:\nhandler is a promise: write await before it.',
    );
    const nothing = QueryModule.forRootAsync({ useFactory: () => undefined as never });
    await expect(startHost(adapter, nothing)).rejects.toThrow(
      'QueryModule: the options are undefined; the factory must return an object.',
    );
  });
});

describeOnOneAdapter('A handler class without handle, on %s', (adapter) => {
  @Injectable()
  class Silent {}
  @Injectable()
  class Complete extends AgentHandler {
    handle = handler;
  }
  const SENTENCE = (name: string) =>
    `QueryModule: the handler ${name} has no method "handle", which answers a query.`;

  it(promise('module.invalid-handler', 'a class without handle, from each place'), async () => {
    const given = Silent as never;
    await expect(startHost(adapter, QueryModule.forRoot({ handler: given }))).rejects.toThrow(
      SENTENCE('Silent'),
    );
    const beside = QueryModule.forRootAsync({ handler: given, useFactory: () => ({}) });
    await expect(startHost(adapter, beside)).rejects.toThrow(SENTENCE('Silent'));
    const returned = QueryModule.forRootAsync({ useFactory: () => ({ handler: given }) });
    await expect(startHost(adapter, returned)).rejects.toThrow(SENTENCE('Silent'));
  });

  it.each([
    [
      'a value without handle',
      Complete,
      (module: ReturnType<typeof Test.createTestingModule>) => module.overrideProvider(Complete).useValue({}),
    ],
    [
      'a class without handle',
      Complete,
      (module: ReturnType<typeof Test.createTestingModule>) =>
        module.overrideProvider(Complete).useClass(Silent),
    ],
    [
      'a value without handle, by the port',
      Complete,
      (module: ReturnType<typeof Test.createTestingModule>) =>
        module.overrideProvider(AgentHandler).useValue({}),
    ],
  ])(promise('module.invalid-handler', '%s in a test'), async (_, type, override) => {
    const module = Test.createTestingModule({ imports: [QueryModule.forRoot({ handler: type })] });
    const testing = await override(module).compile();
    const app = testing.createNestApplication(adapterNamed(adapter), { logger: false });
    await expect(app.init()).rejects.toThrow(SENTENCE('Complete'));
    await app.close().catch(() => undefined);
  });
});
