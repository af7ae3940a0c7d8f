import {
  type ConfigurableModuleAsyncOptions,
  ConfigurableModuleBuilder,
  type DynamicModule,
  Logger,
  Module,
  type Provider,
  type Type,
} from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { getAgentToken } from './agent-token.js';
import { Spool } from './files/spool.js';
import { type Reserve, Transfers } from './files/transfers.js';
import { Bodies } from './http/bodies.js';
import { Callers, OwnerPipe } from './http/caller.js';
import { Endpoint, endpointToken } from './http/endpoint.js';
import { controllerAt } from './http/query.controller.js';
import { MemoryRunStore } from './memory/memory-run-store.js';
import {
  type QueryModuleExtras,
  type QueryModuleFactoryOptions,
  type QueryModuleOptions,
} from './options/query.options.js';
import { Settings } from './options/settings.js';
import { shown } from './options/table.js';
import { Clock } from './platform/clock.js';
import { Connections } from './platform/connections.js';
import { HostParsers } from './platform/host-parsers.js';
import { refuseCircle } from './platform/waiting-providers.js';
import {
  AgentHandler,
  type HandlerFunction,
  handlerOfFunction,
  isHandlerClass,
} from './ports/agent-handler.js';
import type { RunListener } from './ports/run-listener.js';
import { RunStore } from './ports/run-store.js';
import { AgentService } from './runs/agent.service.js';
import { observeStore } from './runs/observed-store.js';
import { Observers } from './runs/observers.js';
import { RunHandler } from './runs/run-handler.js';
import { SharedStore } from './sharing/shared-store.js';
import { Responses } from './sse/responses.js';

type GivenHandler = QueryModuleFactoryOptions['handler'];

type ModuleImports = NonNullable<DynamicModule['imports']>;

type ModuleExtras = Omit<QueryModuleExtras, 'handler'>;

type AsyncOptions = ConfigurableModuleAsyncOptions<QueryModuleFactoryOptions, 'createQueryOptions'>;

type TypedModuleOptions<K extends object> = QueryModuleOptions<K> & ModuleExtras & { kwargs: Type<K> };

/**
 * `POST {base}/query` for an agent.
 *
 * @example
 * @Module({ imports: [QueryModule.forRoot({ handler: MyHandler, imports: [SearchModule] })] })
 * export class AppModule {}
 *
 * @example
 * QueryModule.forRootAsync({
 *   handler: MyHandler,
 *   imports: [ConfigModule, SearchModule],
 *   inject: [ConfigService],
 *   useFactory: (config: ConfigService) => ({ runs: { timeoutMs: config.get('TIMEOUT') } }),
 * })
 */
@Module({
  providers: [
    AgentService,
    OwnerPipe,
    Callers,
    Bodies,
    Endpoint,
    Responses,
    HostParsers,
    Connections,
    Clock,
    {
      provide: Spool,
      inject: [Settings],
      useFactory: ({ spoolDirectory, limits }: Settings) => Spool.open(spoolDirectory, limits.spoolBytes),
    },
    {
      provide: Transfers,
      inject: [Settings, RunStore],
      useFactory: ({ limits }: Settings, store: RunStore) => {
        const reserve: Reserve = async (...of) => store.reserveUploads(...of);
        return new Transfers(limits.filesBytesPerOwner, store.signals.isShared ? reserve : undefined);
      },
    },
  ],
})
export class QueryModule {
  /**
   * Mounts the endpoint with fixed options. A handler that expects kwargs of a class is given with that class.
   *
   * @throws {TypeError} when the application starts: an option is unknown or out of its range, or the handler is not one
   */
  static forRoot<K extends object>(options: TypedModuleOptions<K>): DynamicModule;
  static forRoot(options: QueryModuleOptions & ModuleExtras): DynamicModule;
  static forRoot(options: QueryModuleFactoryOptions & QueryModuleExtras): DynamicModule {
    // The start tells why a store cannot be opened. Before that, nobody waits, and the process would end.
    void Promise.allSettled([options.store, options.dispatcher, options.tracer]);
    return ConfigurableModuleClass.forRoot(options);
  }

  /**
   * Mounts the endpoint with options from a factory, which may inject providers of the host. What `QueryModuleExtras` has is
   * given beside the factory.
   *
   * @throws {TypeError} when the application starts: an option is unknown or out of its range, or the handler is not one or is
   * given twice
   */
  static forRootAsync(options: AsyncOptions & QueryModuleExtras): DynamicModule {
    return ConfigurableModuleClass.forRootAsync(options);
  }
}

/** The builder takes the members that are named here out of the options. */
const EXTRAS: Record<keyof QueryModuleExtras, undefined> = {
  handler: undefined,
  name: undefined,
  path: undefined,
  version: undefined,
  host: undefined,
  decorators: undefined,
  role: undefined,
  listeners: undefined,
  imports: undefined,
  isGlobal: undefined,
};

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } =
  new ConfigurableModuleBuilder<QueryModuleFactoryOptions>({ moduleName: 'Query' })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createQueryOptions')
    .setExtras<QueryModuleExtras>(EXTRAS as object, mount)
    .build();

function mount(definition: DynamicModule, extras: QueryModuleExtras): DynamicModule {
  const { name, role, handler, listeners = [], isGlobal = false } = extras;
  const imports = definition.imports ?? extras.imports ?? [];
  const mark = Symbol(`QueryModule ${name ?? ''}`);
  if (name !== undefined && !NAME.test(name)) {
    throw new TypeError(
      `QueryModule: the option "name" is ${shown(name)}; it must have 1 to 64 letters, digits, "_", "-" or ".".`,
    );
  }
  return {
    module: QueryModule,
    global: isGlobal,
    imports: [...imports, optionsModule(imports, definition.providers)],
    controllers: role === 'worker' ? [] : [controllerAt(extras)],
    providers: [
      {
        provide: mark,
        inject: [ModulesContainer],
        useFactory: (modules: ModulesContainer) => refuseCircle(modules, mark, AgentService),
      },
      {
        provide: Settings,
        inject: [MODULE_OPTIONS_TOKEN],
        useFactory: (options: QueryModuleFactoryOptions) => Settings.of(options, extras),
      },
      {
        provide: RunHandler,
        inject: [ModuleRef],
        useFactory: (ref: ModuleRef) => new RunHandler(ref, handler ?? {}),
      },
      ...handlerProviders(handler),
      ...observerProviders(listeners),
      storeProvider(name),
      { provide: endpointToken(name), useExisting: Endpoint },
      // `AgentService` itself belongs to the module without a name.
      ...(name === undefined ? [] : [{ provide: getAgentToken(name), useExisting: AgentService }]),
    ],
    exports: name === undefined ? [AgentService, AgentHandler] : [getAgentToken(name)],
  };
}

const NAME = /^[\w.-]{1,64}$/;

/**
 * The options have a module of their own: its factory gets what the host exports under a class that `QueryModule` provides too,
 * such as `RunStore`. In that module, Nest would give it the provider of the module, which waits for the options.
 */
function optionsModule(imports: ModuleImports, providers: Provider[] = []): DynamicModule {
  class QueryOptionsModule {}
  return { module: QueryOptionsModule, imports, providers, exports: providers };
}

/** Modules that are given the same store must not see each other's runs. A store of the module's own is shared with none. */
function storeProvider(name = ''): Provider {
  return {
    provide: RunStore,
    inject: [Settings, ModulesContainer, RunHandler, Observers],
    useFactory: (
      settings: Settings,
      modules: ModulesContainer,
      handler: RunHandler,
      observers: Observers,
    ) => {
      const { store, spoolDirectory } = settings;
      const used = store ?? new MemoryRunStore();
      // A store in memory keeps its large files where the temporary files of queries are.
      if (used instanceof MemoryRunStore) used.files.spoolDirectory ??= spoolDirectory;
      const own = store
        ? SharedStore.of(modules, store).join(name, { handler, webhooks: settings.webhooks })
        : used;
      return observers.want('storeAnswered') ? observeStore(own, observers) : own;
    },
  };
}

function observerProviders(listeners: NonNullable<QueryModuleExtras['listeners']>): Provider[] {
  const classes = listeners.filter((listener) => typeof listener === 'function');
  const instances = listeners.filter((listener) => typeof listener !== 'function');
  return [
    ...classes,
    {
      provide: Observers,
      inject: classes,
      useFactory: (...made: RunListener[]) => new Observers([...instances, ...made]),
    },
  ];
}

/** A class is also a provider of its own, so that a test can override it. */
function handlerProviders(given: GivenHandler): Provider[] {
  if (isHandlerClass(given)) return [given, { provide: AgentHandler, useExisting: given }];
  return [
    {
      provide: AgentHandler,
      // The settings are here because what they refuse has the better sentence.
      inject: [MODULE_OPTIONS_TOKEN, ModuleRef, Settings],
      useFactory: ({ handler = given }: QueryModuleFactoryOptions, moduleRef: ModuleRef) => {
        if (!isHandlerClass(handler)) return handlerOf(handler);
        new Logger('QueryModule').warn(
          `The factory of forRootAsync returned the handler class ${handler.name}, so overrideProvider(${handler.name}) has no ` +
            'effect in tests. Give the class beside the factory: forRootAsync({ handler, useFactory }).',
        );
        return moduleRef.create(handler);
      },
    },
  ];
}

function handlerOf(handler: Exclude<GivenHandler, Type>): AgentHandler {
  if (typeof handler === 'function') return handlerOfFunction(handler as HandlerFunction);
  if (typeof (handler as Partial<AgentHandler> | undefined)?.handle === 'function')
    return handler as AgentHandler;
  throw new TypeError(
    'QueryModule: the option "handler" must be a class, an object with a method "handle", or a function.',
  );
}
