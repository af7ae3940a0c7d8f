import { type Exchange, exchange, type Head, type RequestOptions } from './exchange.js';
import type { Target } from './target.js';

/** Sends the requests of all checks, and keeps the heads of the answers: they show which proxies are on the way. */
export class Caller {
  readonly heads: Head[] = [];

  constructor(readonly target: Target) {}

  /** The path of the agent that the checks ask. */
  get diagnosticPath(): string {
    return `${this.target.path}/diagnostic`;
  }

  /**
   * Sends one request on a connection of its own. It never rejects.
   *
   * @param credential the headers that have it. Default: those of the target
   */
  async exchange(options: RequestOptions, credential = this.target.headers): Promise<Exchange> {
    const result = await exchange({ ...this.target, headers: credential }, options);
    if (result.head) this.heads.push(result.head);
    return result;
  }
}
