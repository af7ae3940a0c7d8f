import { type DynamicModule, Module, type Provider, type Type } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { AgentService } from './runs/agent.service.js';
import { HostParsers } from './platform/host-parsers.js';
import { Spool } from './files/spool.js';
import { MemoryRunStore } from './memory/memory-run-store.js';
import { AgentHandler, type HandlerFunction } from './ports/agent-handler.js';
import { RunStore } from './ports/run-store.js';
import { controllerAt } from './http/query.controller.js';
import {
  type ASYNC_OPTIONS_TYPE,
  ConfigurableModuleClass,
  MODULE_OPTIONS_TOKEN,
  type OPTIONS_TYPE,
  type QueryModuleOptions,
} from './options/query.options.js';
import { QueryReader } from './http/query.reader.js';
import { SseInterceptor } from './sse/sse.interceptor.js';

/**
 * `POST {base}/query` in front of an agent.
 *
 * @example
 * @Module({ imports: [QueryModule.forRoot({ handler: MyHandler, imports: [SearchModule] })] })
 * export class AppModule {}
 *
 * @example
 * QueryModule.forRootAsync({
 *   imports: [ConfigModule, SearchModule],
 *   inject: [ConfigService],
 *   useFactory: (config: ConfigService) => ({ handler: MyHandler, runs: { timeoutMs: config.get('TIMEOUT') } }),
 * })
 */
@Module({
  providers: [
    AgentService,
    QueryReader,
    SseInterceptor,
    HostParsers,
    {
      provide: RunStore,
      inject: [MODULE_OPTIONS_TOKEN],
      useFactory: ({ store }: QueryModuleOptions) => store ?? new MemoryRunStore(),
    },
    {
      provide: Spool,
      inject: [MODULE_OPTIONS_TOKEN],
      useFactory: ({ spoolDirectory }: QueryModuleOptions) => Spool.open(spoolDirectory),
    },
  ],
  exports: [AgentService],
})
export class QueryModule extends ConfigurableModuleClass {
  /** Mounts the endpoint with options that are known now. */
  static override forRoot(options: typeof OPTIONS_TYPE): DynamicModule {
    return mount(super.forRoot(options), options.path, handlerProviders(options.handler));
  }

  /** Mounts the endpoint with options that providers of the host make. `path` must be known now. */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    return mount(super.forRootAsync(options), options.path, [handlerFromOptions]);
  }
}

function mount(module: DynamicModule, path = 'query', handler: Provider[]): DynamicModule {
  return {
    ...module,
    controllers: [controllerAt(path)],
    providers: [...(module.providers ?? []), ...handler],
    exports: [...(module.exports ?? []), AgentHandler],
  };
}

const handlerFromOptions: Provider = {
  provide: AgentHandler,
  inject: [MODULE_OPTIONS_TOKEN, ModuleRef],
  useFactory: ({ handler }: QueryModuleOptions, moduleRef: ModuleRef) =>
    isHandlerClass(handler) ? moduleRef.create(handler) : handlerOf(handler),
};

/** A class is a provider under its own name too, so that a test can override it. */
function handlerProviders(handler: QueryModuleOptions['handler']): Provider[] {
  if (!isHandlerClass(handler)) return [{ provide: AgentHandler, useValue: handlerOf(handler) }];
  return [handler, { provide: AgentHandler, useExisting: handler }];
}

function handlerOf(handler: AgentHandler | HandlerFunction): AgentHandler {
  if (typeof handler === 'function') return { handle: handler };
  if (typeof (handler as Partial<AgentHandler> | undefined)?.handle === 'function') return handler;
  throw new TypeError(
    'QueryModule: the option "handler" must be a class, an object with a method "handle", or a function.',
  );
}

/** A class may have its `handle` as a property, which its prototype does not show. */
function isHandlerClass(handler: QueryModuleOptions['handler']): handler is Type<AgentHandler> {
  return typeof handler === 'function' && /^class\b/.test(Function.prototype.toString.call(handler));
}
