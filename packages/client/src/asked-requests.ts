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
 * for (const envelope of envelopes) asked.read(envelope);
 * console.log(asked.open);
 */
export class AskedRequests {
  /** Those of the newest pause that are resolved, in the order in which that happened. */
  resolved: readonly ResolvedRequest[] = [];
  readonly #open = new Map<string, InputRequest>();

  /** The requests that are open, in the order in which they were asked. */
  get open(): readonly InputRequest[] {
    return [...this.#open.values()];
  }

  /**
   * Reads the next envelope of the log.
   *
   * @returns whether it has resolved the last open request: the run goes on
   */
  read({ type, data }: Envelope): boolean {
    const open = this.#open;
    if (type === 'input_required') {
      if (open.size === 0) this.resolved = [];
      for (const request of (data as InputRequiredEnvelope['data']).requests) open.set(request.id, request);
    }
    // A handler is called again only when nothing is open.
    if (type === 'restarted' || type === 'done') open.clear();
    if (type !== 'input_resolved') return false;
    for (const resolved of (data as InputResolvedEnvelope['data']).answers) {
      const request = open.get(resolved.id);
      if (request && open.delete(resolved.id)) this.resolved = [...this.resolved, [request, resolved]];
    }
    return open.size === 0;
  }
}
