import { Buffer } from 'node:buffer';
import { type Envelope, QueryError } from '../../query/index.js';

/**
 * A line of the type `file` has the content of the file as `base64`, as a query has it. It has no path: what a caller has written
 * may be a part of the output, and must not choose a file of this machine.
 *
 * @returns the envelope with its content; any other envelope as it is
 * @throws {QueryError} `invalid_envelope`: the content is not base64 (RFC 4648 §4)
 */
export function withContent(envelope: Envelope): Envelope {
  if (envelope.type !== 'file') return envelope;
  const { base64, ...data } = (envelope.data ?? {}) as Record<string, unknown>;
  // The service says what else is wrong with the envelope.
  if (base64 === undefined) return envelope;
  const content = typeof base64 === 'string' ? Buffer.from(base64, 'base64') : undefined;
  if (content?.toString('base64') !== base64) {
    const detail =
      'The agent emitted something that is not an envelope: `data.base64` of a `file` is not base64.';
    throw new QueryError('invalid_envelope', detail);
  }
  return { type: 'file', data: { ...data, content } };
}
