import { Observable } from 'rxjs';
import { Logger } from '@nestjs/common';
import type { AgentHandler, HandlerAnswer, Query, QueryContext, SessionRef } from '../../query/index.js';
import { stackForLog } from '../../query/index.js';

/** The hooks of Nest that a handler may have, in their order. */
const STARTING = ['onModuleInit', 'onApplicationBootstrap'] as const;
const STOPPING = ['onModuleDestroy', 'beforeApplicationShutdown', 'onApplicationShutdown'] as const;

export type Hook = (typeof STARTING | typeof STOPPING)[number];

const logger = new Logger('Watch');

/** The handler of one version of a module, and the runs that execute its code. */
export class ModuleVersion {
  #executing = 0;
  #isRetired = false;
  /** Resolves when the version is retired, and no run executes its code. */
  readonly gone: Promise<void>;
  #resolveGone!: () => void;

  /** @param handler a function is an object with the method `handle` here */
  constructor(private readonly handler: AgentHandler) {
    this.gone = new Promise((resolve) => (this.#resolveGone = resolve));
  }

  get restarts(): number {
    return this.handler.restarts ?? 0;
  }

  /** Calls a hook of the handler, if it has this hook. */
  async call(hook: Hook, signal?: string): Promise<void> {
    const hooks = this.handler as Partial<Record<Hook, (signal?: string) => unknown>>;
    await hooks[hook]?.(signal);
  }

  /** The handler was made while the application runs: what Nest does for others at its start. */
  async start(): Promise<void> {
    for (const hook of STARTING) await this.call(hook);
  }

  /** Gets no more queries. Its hooks are called when its last run has ended. */
  async retire(): Promise<void> {
    this.#isRetired = true;
    this.#ended(0);
    await this.gone;
    for (const hook of STOPPING)
      await this.call(hook).catch((error: Error) =>
        logger.error(`${hook} of an old version failed.`, stackForLog(error)),
      );
  }

  async handle(query: Query, context: QueryContext): Promise<HandlerAnswer> {
    this.#executing++;
    try {
      const answer = await this.handler.handle(query, context);
      return answer instanceof Object ? this.#counted(answer) : answer;
    } finally {
      this.#ended();
    }
  }

  sessionErased(session: SessionRef): void | Promise<void> {
    return this.handler.sessionErased?.(session);
  }

  /** The same answer. The version knows when it ends. */
  #counted(answer: HandlerAnswer): HandlerAnswer {
    if ('subscribe' in answer) return this.#countedObservable(answer);
    if (!(Symbol.asyncIterator in answer)) return answer;
    return { [Symbol.asyncIterator]: () => this.#countedIterator(answer[Symbol.asyncIterator]()) };
  }

  #countedObservable(answer: Extract<HandlerAnswer, Observable<unknown>>): HandlerAnswer {
    return new Observable((subscriber) => {
      this.#executing++;
      const subscription = answer.subscribe(subscriber);
      return () => {
        subscription.unsubscribe();
        this.#ended();
      };
    });
  }

  #countedIterator<T>(iterator: AsyncIterator<T>): AsyncIterator<T> {
    this.#executing++;
    let hasEnded = false;
    const end = () => {
      if (!hasEnded) this.#ended();
      hasEnded = true;
    };
    const observed = async (step: Promise<IteratorResult<T>>) => {
      try {
        const result = await step;
        if (result.done) end();
        return result;
      } catch (error) {
        end();
        throw error;
      }
    };
    return {
      next: () => observed(iterator.next()),
      ...(iterator.return && { return: () => observed(iterator.return!()) }),
    };
  }

  #ended(runs = 1): void {
    this.#executing -= runs;
    if (this.#isRetired && this.#executing === 0) this.#resolveGone();
  }
}
