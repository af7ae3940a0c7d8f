import { isObservable, type Observable } from 'rxjs';
import {
  emittedFile,
  type Envelope,
  envelopeText,
  type HandlerAnswer,
  RUN_DEFAULTS,
  RunStream,
} from '../query/index.js';

/**
 * Reads an answer to its end: what a handler returns, or the Observable of `AgentService`.
 *
 * It rejects with what the answer fails with, and as the service does with a `QueryError` `invalid_envelope` where the answer
 * has something that is not an envelope.
 *
 * @example
 * const envelopes = await collect(handler.handle(await queryOf('Hello'), await contextOf()));
 * expect(envelopes).toEqual([message('Hello')]);
 */
export async function collect(
  answer: HandlerAnswer | Observable<Envelope> | Promise<HandlerAnswer>,
): Promise<Envelope[]> {
  const source = await answer;
  const envelopes: Envelope[] = [];
  const take = (envelope: Envelope) => {
    // The service has checked what it streams, and only there is `done` an envelope.
    if (!(source instanceof RunStream)) check(envelope);
    envelopes.push(envelope);
  };
  if (isObservable(source)) await source.forEach(take);
  else for await (const envelope of source) take(envelope);
  return envelopes;
}

/** The content of a file is no JSON, and is left for the test to read. */
function check(envelope: Envelope): void {
  if ((envelope as Partial<Envelope> | null)?.type === 'file') emittedFile(envelope.data);
  else envelopeText(envelope, RUN_DEFAULTS.envelopeLength);
}
