import { ModuleReloads } from 'nest-agent-query-modules';
import { Injectable, Logger, type Type } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import {
  type AgentHandler,
  type HandlerAnswer,
  handlerOfFunction,
  isHandlerClass,
  type Query,
  type QueryContext,
  type SessionRef,
  settlesWithin,
} from '../../query/index.js';
import { HANDLER_USE, type ModuleHandler } from './load-handler.js';
import { ModuleVersion } from './module-version.js';

/** How long a shutdown waits for the hooks of versions whose runs have ended. */
const HOOKS_MS = 1_000;

/**
 * Makes the class of a handler for a module whose file may change. A run is executed to its end by the version that was the
 * newest when the run began.
 *
 * @throws {ModuleFailure} the module cannot be loaded
 */
export async function watchHandler(name: string): Promise<Type<AgentHandler>> {
  const use = { ...HANDLER_USE, logger: new Logger('Watch') };
  const { first, reloads } = await ModuleReloads.of(name, use);

  @Injectable()
  class WatchedModule extends ReloadingHandler {
    constructor(moduleRef: ModuleRef) {
      super(moduleRef, first, reloads);
    }
  }
  return WatchedModule;
}

abstract class ReloadingHandler implements AgentHandler {
  #current!: ModuleVersion;
  /** The old versions whose hooks are still to be called. */
  readonly #retiring = new Set<Promise<void>>();

  constructor(
    private readonly moduleRef: ModuleRef,
    private readonly first: ModuleHandler,
    private readonly reloads: ModuleReloads<ModuleHandler>,
  ) {}

  get restarts(): number {
    return this.#current.restarts;
  }

  handle(query: Query, context: QueryContext): Promise<HandlerAnswer> {
    return this.#current.handle(query, context);
  }

  sessionErased(session: SessionRef): void | Promise<void> {
    return this.#current.sessionErased(session);
  }

  async onModuleInit(): Promise<void> {
    this.#current = await this.#versionOf(this.first);
    await this.#current.call('onModuleInit');
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.#current.call('onApplicationBootstrap');
    this.reloads.begin((handler, isNewest) => this.#replace(handler, isNewest));
  }

  async onModuleDestroy(): Promise<void> {
    this.reloads.stop();
    await this.#current.call('onModuleDestroy');
  }

  async beforeApplicationShutdown(signal?: string): Promise<void> {
    await this.#current.call('beforeApplicationShutdown', signal);
  }

  async onApplicationShutdown(signal?: string): Promise<void> {
    await this.#current.call('onApplicationShutdown', signal);
    await settlesWithin(HOOKS_MS, Promise.all(this.#retiring));
  }

  async #replace(handler: ModuleHandler, isNewest: () => boolean): Promise<void> {
    const version = await this.#versionOf(handler);
    await version.start();
    const old = isNewest() ? this.#current : version;
    if (old !== version) this.#current = version;
    const retiring = old.retire().finally(() => this.#retiring.delete(retiring));
    this.#retiring.add(retiring);
  }

  async #versionOf(handler: ModuleHandler): Promise<ModuleVersion> {
    if (isHandlerClass(handler)) return new ModuleVersion(await this.moduleRef.create(handler));
    return new ModuleVersion(typeof handler === 'function' ? handlerOfFunction(handler) : handler);
  }
}
