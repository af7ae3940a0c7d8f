import type {
  Envelope,
  InputRequest,
  InputRequiredEnvelope,
  InputResolvedEnvelope,
  ResolvedInput,
} from './wire/index.js';

/** A request of a run, and what has become of it. */
export type ResolvedRequest = readonly [request: InputRequest, resolved: ResolvedInput];

/**
 * What a run asks, as its log says. A pause begins with the first request that is open, and ends when none is open any more.
 *
 * @example
 * const asked = new AskedRequests();
 * for (const [index, envelope] of envelopes.entries()) asked.read(envelope, index + 1);
 * console.log(asked.open);
 */
export class AskedRequests {
  /** The number of the newest envelope that asks; 0 if there is none. */
  askedAt = 0;
  readonly #open = new Map<string, InputRequest>();
  #resolved: ResolvedRequest[] = [];

  /** The requests that are open, in the order in which they were asked. */
  get open(): readonly InputRequest[] {
    return [...this.#open.values()];
  }

  /** Those of the newest pause that are resolved, in the order in which that happened. */
  get resolved(): readonly ResolvedRequest[] {
    return this.#resolved;
  }

  /** Whether the newest pause has a request. @param id of the request */
  has(id: string): boolean {
    return this.#open.has(id) || this.#resolved.some(([request]) => request.id === id);
  }

  /**
   * Reads the next envelope.
   *
   * @param seq its number in the log
   * @returns whether it has resolved the last open request: the run goes on
   */
  read({ type, data }: Envelope, seq: number): boolean {
    if (type === 'input_required') {
      if (this.#open.size === 0) this.#resolved = [];
      this.askedAt = seq;
      for (const request of (data as InputRequiredEnvelope['data']).requests)
        this.#open.set(request.id, request);
    }
    // A handler is called again only when nothing is open.
    if (type === 'restarted' || type === 'done') this.#open.clear();
    if (type !== 'input_resolved') return false;
    for (const resolved of (data as InputResolvedEnvelope['data']).answers) {
      const request = this.#open.get(resolved.id);
      if (request && this.#open.delete(resolved.id)) this.#resolved.push([request, resolved]);
    }
    return this.#open.size === 0;
  }
}
