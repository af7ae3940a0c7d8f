import type { OnModuleInit } from '@nestjs/common';
import { ContextIdFactory, type ModuleRef } from '@nestjs/core';
import { isInRange, type Range, rangeText, shown } from '../options/table.js';
import { AgentHandler } from '../ports/agent-handler.js';
import type { HandlerAnswer, Query, QueryContext, SessionRef } from '../ports/agent-handler.js';

/**
 * What `@Inject(REQUEST)` gives to a request-scoped handler and its dependencies: the run. There is no HTTP request, because
 * a run may wait, and may be executed by another process.
 */
export type RunRequest = Pick<QueryContext, 'runId' | 'owner'>;

/** How often a handler may declare that a run is executed again. */
const RESTARTS: Range = [0, 1_000];

/** @throws {TypeError} the handler declares something else than a number of restarts */
export function restartsOf({ restarts = 0 }: AgentHandler): number {
  if (isInRange(restarts, RESTARTS)) return restarts;
  throw new TypeError(
    `The property "restarts" of the handler is ${shown(restarts)}; it must be ${rangeText(RESTARTS)}.`,
  );
}

/**
 * The handler of a module, as its runs call it. A handler that is request-scoped, or depends on something that is, is made once
 * for each run; durable dependencies are kept as the host's `ContextIdStrategy` says. `AgentService` depends on this class
 * instead of the handler itself, so that it is a singleton in every case.
 */
export class RunHandler implements AgentHandler, OnModuleInit {
  #singleton: AgentHandler | undefined;
  #isScoped = false;

  /** @param declared the static members of the class that count for a request-scoped handler: without a run, it has no instance */
  constructor(
    private readonly moduleRef: ModuleRef,
    private readonly declared: Partial<AgentHandler & { name: string }>,
  ) {}

  /** @throws {TypeError} the instance of a class, or what a test has put in its place, has no method `handle` */
  onModuleInit(): void {
    if (this.#static) this.#checked(this.#static);
  }

  get restarts(): number {
    return this.#static?.restarts ?? this.declared.restarts ?? 0;
  }

  handle(query: Query, context: QueryContext): HandlerAnswer | Promise<HandlerAnswer> {
    return this.#static ? this.#static.handle(query, context) : this.#handleOnce(query, context);
  }

  sessionErased(session: SessionRef): void | Promise<void> {
    return (this.#static ?? this.declared).sessionErased?.(session);
  }

  async #handleOnce(query: Query, context: QueryContext): Promise<HandlerAnswer> {
    const request: RunRequest = { runId: context.runId, owner: context.owner };
    const contextId = ContextIdFactory.getByRequest(request);
    this.moduleRef.registerRequestByContextId(request, contextId);
    const handler = await this.moduleRef.resolve(AgentHandler, contextId, { strict: true });
    return this.#checked(handler).handle(query, context);
  }

  #checked(handler: Partial<AgentHandler>): AgentHandler {
    if (typeof handler.handle === 'function') return handler as AgentHandler;
    const name = this.declared.name ?? handler.constructor.name;
    throw new TypeError(`QueryModule: the handler ${name} has no method "handle", which answers a query.`);
  }

  /** The handler, if there is one for all runs. It exists when the application has started. */
  get #static(): AgentHandler | undefined {
    if (this.#isScoped) return undefined;
    try {
      return (this.#singleton ??= this.moduleRef.get(AgentHandler, { strict: true }));
    } catch {
      // Nest refuses to return a provider that has no single instance.
      this.#isScoped = true;
      return undefined;
    }
  }
}
