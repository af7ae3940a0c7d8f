import { type Defect } from './defect.js';
import { bodies, each, envelopes, filesLast, isFull, json, logsLast, mixed, together } from '../wrongs.js';

const WITHOUT_KEEP_ALIVES = each((piece) => (/^(?::\n|\n\n)$/.test(piece) ? '' : piece));

/** Defects of queries and streams. */
export const OF_STREAMS: Defect[] = [
  [
    'core.answer',
    'says that a stream is JSON',
    {
      head: ({ headers }) => (headers['content-type'] = 'application/json'),
    },
  ],
  [
    'core.event',
    'writes an envelope in two lines',
    {
      stream: each((piece) => piece.replace(',"data":', ',\ndata: "data":')),
    },
  ],
  [
    'core.event',
    'ends an event without a blank line',
    {
      stream: each((piece) => piece.replace(/\n\n$/, '\n')),
    },
  ],
  [
    'core.messages',
    'trims messages',
    {
      stream: envelopes((envelope) => {
        const { content } = envelope.data;
        if (typeof content === 'string') envelope.data['content'] = content.trim();
        return envelope;
      }),
    },
  ],
  [
    'core.logs',
    'keeps logs to itself',
    {
      stream: envelopes((envelope) => (envelope.type === 'log' ? undefined : envelope)),
    },
  ],
  ['core.order', 'sends logs after the messages', { stream: logsLast }],
  ['core.one-by-one', 'sends the events together', { stream: together }],
  [
    'core.other-types',
    'drops types that it does not know',
    {
      stream: envelopes((envelope) => (envelope.type.startsWith('weather') ? undefined : envelope)),
    },
  ],
  [
    'core.large-event',
    'cuts events at 64 KiB',
    {
      stream: each((piece) => (piece.length > 65_536 ? `${piece.slice(0, 65_536)}"}}\n\n` : piece)),
    },
  ],
  ['core.separate', 'mixes the streams of queries', { stream: mixed() }],
  ['core.texts', 'unifies line ends', { request: bodies((body) => body.replaceAll('\\r\\n', '\\n')) }],
  [
    'core.files',
    'drops the parameters of media types',
    {
      request: bodies((body) => body.replace(/; version=\\"1 2\\"/, '')),
    },
  ],
  ['core.mixed', 'sorts files behind texts', { request: bodies(filesLast) }],
  [
    'core.kwargs',
    'drops kwargs that are null',
    {
      request: bodies((body) => body.replace(/"key 5[^"]*":null,/, '')),
    },
  ],
  [
    'stream.plain-bytes',
    'sends a comment as keep-alive to old clients',
    {
      stream: each((piece, { request }) => (isFull(request) ? piece : `: \n${piece}`)),
    },
  ],
  [
    'stream.plain-bytes',
    'ends lines with CR LF',
    {
      stream: each((piece, { request }) => (isFull(request) ? piece : piece.replaceAll('\n', '\r\n'))),
    },
  ],
  ['stream.full-bytes', 'does not look at Accept', { request: ({ headers }) => delete headers.accept }],
  [
    'stream.numbers',
    'counts from 0',
    {
      stream: each((piece) => piece.replace(/^id: (.*)\.(\d+)/, (_, id, seq) => `id: ${id}.${seq - 1}`)),
    },
  ],
  [
    'stream.headers',
    'lets nginx collect the stream',
    {
      head: ({ headers }) => delete headers['x-accel-buffering'],
    },
  ],
  [
    'stream.headers-immediate',
    'sends the headers with the first event',
    { isHeadLate: true, stream: WITHOUT_KEEP_ALIVES },
  ],
  [
    'stream.keep-alive',
    'has no keep-alives',
    {
      stream: WITHOUT_KEEP_ALIVES,
    },
  ],
  [
    'stream.done-completed',
    'ends without done',
    {
      stream: envelopes((envelope) => (envelope.type === 'done' ? undefined : envelope)),
    },
  ],
  [
    'stream.done-completed',
    'sends done twice',
    {
      stream: each((piece) => (piece.includes('"type":"done"') ? piece + piece : piece)),
    },
  ],
  [
    'stream.done-failed',
    'says that a failed run is completed',
    {
      stream: envelopes((envelope) =>
        envelope.type === 'done' ? { type: 'done', data: { status: 'completed' } } : envelope,
      ),
    },
  ],
  [
    'stream.no-internals',
    'shows what the agent threw',
    {
      stream: each((piece) => piece.replace(/"message":"[^"]*"\}\}\}/, '"message":"ENOENT: /srv/secret"}}}')),
    },
  ],
  [
    'stream.standard-types',
    'drops members that it does not know',
    {
      stream: each((piece) => piece.replace(',"more":[1]', '')),
    },
  ],
  [
    'stream.invalid-envelope',
    'lets messages without content pass',
    {
      stream: each((piece) => piece.replace('invalid_envelope', 'handler_failed')),
    },
  ],
  [
    'stream.problem-json',
    'sends errors as application/json',
    {
      head: ({ headers }) => {
        if (headers['content-type'] === 'application/problem+json')
          headers['content-type'] = 'application/json';
      },
    },
  ],
  [
    'stream.problem-fields',
    'accepts kwargs that are an array',
    {
      request: bodies((body) => body.replace('"kwargs":[]', '"kwargs":{}')),
    },
  ],
  [
    'stream.problem-all-faults',
    'names the first fault only',
    {
      body: json((problem) => ({ ...problem, errors: (problem['errors'] as unknown[])?.slice(0, 1) })),
    },
  ],
  [
    'stream.problem-name',
    'accepts names that are paths',
    {
      request: bodies((body) => body.replace('"a/b.txt"', '"b.txt"')),
    },
  ],
  [
    'stream.problem-base64',
    'accepts the URL-safe alphabet',
    {
      request: bodies((body) => body.replace('"-_-_"', '"+/+/"')),
    },
  ],
  ['stream.limit', 'does not say which limit', { body: json(({ limit, ...problem }) => problem) }],
];
