import { bodies, type Envelope, envelopes, json } from '../wrongs.js';
import type { Defect } from './defect.js';

/** Removes metadata on the way to the service. */
const FORGETS = { request: bodies((body) => body.replace(/,"metadata":(?:\{[^}]*\}|"[^"]*")/, '')) };

/** Changes how failed runs seem to end. */
function completed(envelope: Envelope): Envelope {
  return envelope.type === 'done' ? { ...envelope, data: { status: 'completed' } } : envelope;
}

/** Defects of metadata and of results. */
export const OF_METADATA: Defect[] = [
  ['stream.problem-metadata', 'accepts any metadata', FORGETS],
  [
    'stream.result',
    'has no results',
    { stream: envelopes((each) => (each.type === 'result' ? undefined : each)) },
  ],
  ['stream.result-once', 'ends well with a second result', { stream: envelopes(completed) }],
  ['runs.metadata', 'does not return metadata', { body: json(({ metadata, ...run }) => run) }],
  ['runs.retry-metadata', 'does not compare the metadata of a key', FORGETS],
  [
    'lists.metadata',
    'reads the first parameter only',
    { request: (request) => (request.path = request.path.replace(/&metadata\.[^&]*/g, '')) },
  ],
];
