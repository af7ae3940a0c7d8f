import type { Envelope } from 'nest-agent-query-client';
import type { Observable } from 'rxjs';
import type { StreamForm } from './stream-form.js';

/**
 * A stream that a route returns, with the form in which `Responses` writes it.
 *
 * @example
 * return new EventStream(this.endpoint.agent.follow(owner, runId), new MyForm());
 */
export class EventStream {
  /** @param form how the response shows the run. Default: in envelopes, as the request accepts them */
  constructor(
    readonly envelopes: Observable<Envelope>,
    readonly form?: StreamForm,
  ) {}
}
