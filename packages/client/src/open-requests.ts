import type { Envelope, InputRequest, InputRequiredEnvelope, InputResolvedEnvelope } from './wire/index.js';

/**
 * Which requests of a run are open after one more envelope of its log.
 *
 * @param open those that were open before it
 *
 * @example
 * let open: readonly InputRequest[] = [];
 * for (const envelope of envelopes) open = openAfter(open, envelope);
 */
export function openAfter(open: readonly InputRequest[], { type, data }: Envelope): readonly InputRequest[] {
  if (type === 'input_required') return [...open, ...(data as InputRequiredEnvelope['data']).requests];
  if (type === 'input_resolved') {
    const { answers } = data as InputResolvedEnvelope['data'];
    return open.filter((request) => answers.every(({ id }) => id !== request.id));
  }
  // A handler is called again only when nothing is open.
  return type === 'restarted' || type === 'done' ? [] : open;
}
