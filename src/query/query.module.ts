import { type DynamicModule, Logger, Module, type Provider, type Type } from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { getAgentToken } from './agent-token.js';
import { Spool } from './files/spool.js';
import { OwnerPipe } from './http/owner.pipe.js';
import { controllerAt } from './http/query.controller.js';
import { QueryReader } from './http/query.reader.js';
import { SubmissionPipe } from './http/submission.pipe.js';
import { MemoryRunStore } from './memory/memory-run-store.js';
import {
  type ASYNC_OPTIONS_TYPE,
  ConfigurableModuleClass,
  MODULE_OPTIONS_TOKEN,
  type QueryModuleExtras,
  type QueryModuleFactoryOptions,
  type QueryModuleOptions,
} from './options/query.options.js';
import { shown } from './options/ranges.js';
import { Settings, settingsOf } from './options/settings.js';
import { Connections } from './platform/connections.js';
import { HostParsers } from './platform/host-parsers.js';
import { AgentHandler, type HandlerFunction } from './ports/agent-handler.js';
import { RunStore } from './ports/run-store.js';
import { AgentService } from './runs/agent.service.js';
import { SharedStore } from './sharing/shared-store.js';
import { SseInterceptor } from './sse/sse.interceptor.js';

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
    QueryReader,
    OwnerPipe,
    SubmissionPipe,
    SseInterceptor,
    HostParsers,
    Connections,
    { provide: Settings, inject: [MODULE_OPTIONS_TOKEN], useFactory: settingsOf },
    {
      provide: Spool,
      inject: [Settings],
      useFactory: ({ spoolDirectory, limits }: Settings) => Spool.open(spoolDirectory, limits.spoolBytes),
    },
  ],
})
export class QueryModule {
  /**
   * Mounts the endpoint with fixed options.
   *
   * @throws {TypeError} when the application starts: an option is unknown or out of its range, or the handler is none
   */
  static forRoot(options: QueryModuleOptions & QueryModuleExtras): DynamicModule {
    return mount(ConfigurableModuleClass.forRoot(options), options, handlerProviders(options.handler));
  }

  /**
   * Mounts the endpoint with options from a factory, which may inject providers of the host. What `QueryModuleExtras` has is
   * given beside the factory.
   *
   * @throws {TypeError} when the application starts: an option is unknown or out of its range, or the handler is none or is
   * given twice
   */
  static forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    const providers =
      options.handler === undefined
        ? [handlerOfFactory]
        : [...handlerProviders(options.handler), noSecondHandler];
    return mount(ConfigurableModuleClass.forRootAsync(options), options, providers);
  }
}

function mount(module: DynamicModule, extras: QueryModuleExtras, handler: Provider[]): DynamicModule {
  const { name } = extras;
  if (name !== undefined && !NAME.test(name)) {
    throw new TypeError(
      `QueryModule: the option "name" is ${shown(name)}; it must have 1 to 64 letters, digits, "_", "-" or ".".`,
    );
  }
  return {
    ...module,
    module: QueryModule,
    controllers: [controllerAt(extras)],
    providers: [...(module.providers ?? []), ...handler, storeProvider(name), ...aliases(name)],
    exports: [
      ...(module.exports ?? []),
      ...(name === undefined ? [AgentService, AgentHandler] : [getAgentToken(name)]),
    ],
  };
}

const NAME = /^[\w.-]{1,64}$/;

/** Modules that are given the same store must not see each other's runs. A store of the module's own is shared with none. */
function storeProvider(name = ''): Provider {
  return {
    provide: RunStore,
    inject: [Settings, ModulesContainer],
    useFactory: ({ store }: Settings, application: ModulesContainer) =>
      store ? SharedStore.of(application, store).join(name) : new MemoryRunStore(),
  };
}

/** `AgentService` itself belongs to the module without a name. */
function aliases(name: string | undefined): Provider[] {
  return name === undefined ? [] : [{ provide: getAgentToken(name), useExisting: AgentService }];
}

/** A class is also a provider of its own, so that a test can override it. */
function handlerProviders(handler: QueryModuleOptions['handler']): Provider[] {
  if (!isHandlerClass(handler)) return [{ provide: AgentHandler, useFactory: () => handlerOf(handler) }];
  return [handler, { provide: AgentHandler, useExisting: handler }];
}

const handlerOfFactory: Provider = {
  provide: AgentHandler,
  inject: [MODULE_OPTIONS_TOKEN, ModuleRef],
  useFactory: ({ handler }: QueryModuleFactoryOptions, moduleRef: ModuleRef) => {
    if (!isHandlerClass(handler)) return handlerOf(handler);
    new Logger('QueryModule').warn(
      `The factory of forRootAsync returned the handler class ${handler.name}, so overrideProvider(${handler.name}) has no ` +
        'effect in tests. Give the class beside the factory: forRootAsync({ handler, useFactory }).',
    );
    return moduleRef.create(handler);
  },
};

const noSecondHandler: Provider = {
  provide: Symbol('no second handler'),
  inject: [MODULE_OPTIONS_TOKEN],
  useFactory: ({ handler }: QueryModuleFactoryOptions) => {
    if (handler === undefined) return true;
    throw new TypeError(
      'QueryModule: the handler is given beside the factory and by the factory. Remove one of them.',
    );
  },
};

function handlerOf(handler: AgentHandler | HandlerFunction | undefined): AgentHandler {
  if (typeof handler === 'function') return { handle: handler };
  if (typeof (handler as Partial<AgentHandler> | undefined)?.handle === 'function') return handler!;
  throw new TypeError(
    'QueryModule: the option "handler" must be a class, an object with a method "handle", or a function.',
  );
}

/** The source text is tested, because a class may have `handle` as a property, which its prototype does not show. */
function isHandlerClass(handler: QueryModuleFactoryOptions['handler']): handler is Type<AgentHandler> {
  return typeof handler === 'function' && /^class\b/.test(Function.prototype.toString.call(handler));
}
