import type { PassedRequest, Wrong } from '../defective-service.js';
import { OTHER, OWN } from '../owners.js';
import { bodies, type Envelope, envelopes, firstBodies, json, setHeader, turns } from '../wrongs.js';
import { type Defect } from './defect.js';

/** It takes the key of one owner for that of the other. */
export const ONE_OWNER: Wrong = {
  request: ({ headers }: PassedRequest) => {
    if (headers.authorization?.includes(OTHER.key)) headers.authorization = `Bearer ${OWN.key}`;
  },
};

/** Defects of runs, sessions, files, lists and access. */
export const OF_RUNS: Defect[] = [
  [
    'runs.path',
    'forgets its prefix',
    {
      head: ({ headers }) =>
        setHeader(headers, 'content-location', headers['content-location']?.replace('/query', '')),
    },
  ],
  ['runs.json', 'has no times', { body: json(({ endedAt, ...run }) => run) }],
  [
    'runs.follow-live',
    'begins with what is new',
    {
      request: (request) => request.method === 'GET' && (request.path += '?after=1'),
    },
  ],
  [
    'runs.resume',
    'repeats an event',
    {
      request: ({ headers }) => {
        const repeated = (_: string, id: string, seq: number) => `${id}.${Math.max(0, seq - 1)}`;
        setHeader(
          headers,
          'last-event-id',
          headers['last-event-id']?.toString().replace(/^(.*)\.(\d+)$/, repeated),
        );
      },
    },
  ],
  [
    'runs.resume-post',
    'starts a new run for Last-Event-ID',
    {
      request: (request) => request.method === 'POST' && delete request.headers['last-event-id'],
    },
  ],
  [
    'runs.follow-at-end',
    'follows a run that has ended',
    {
      head: (head) => (head.status = head.status === 204 ? 200 : head.status),
    },
  ],
  [
    'runs.retry',
    'does not know Idempotency-Key',
    { request: ({ headers }) => delete headers['idempotency-key'] },
  ],
  ['runs.retry-other', 'does not compare the queries of a key', { request: firstBodies() }],
  ['runs.respond-async', 'does not know Prefer', { request: ({ headers }) => delete headers['prefer'] }],
  [
    'runs.cancel',
    'refuses to cancel',
    {
      instead: ({ method }) => (method === 'DELETE' ? { status: 405 } : undefined),
    },
  ],
  [
    'runs.cancel-stops',
    'says that it has cancelled, and does not',
    {
      request: (request) => request.method === 'DELETE' && (request.method = 'GET'),
      body: json((run) => ({ ...run, status: 'cancelled' })),
    },
  ],
  [
    'sessions.history',
    'begins each query with an empty history',
    {
      request: bodies((body) => body.replace('"session_id":"', () => `"session_id":"${Math.random()}`)),
    },
  ],
  [
    'sessions.envelopes',
    'keeps logs in turns',
    {
      body: turns((turn) => (turn['envelopes'] as Envelope[]).push({ type: 'log', data: { message: 'x' } })),
    },
  ],
  [
    'sessions.turns',
    'forgets the files of a turn',
    {
      body: turns(
        (turn) => (turn['parts'] = (turn['parts'] as Envelope[]).filter(({ type }) => type === 'text')),
      ),
    },
  ],
  ['sessions.pages', 'has no next page', { body: json((page) => ({ ...page, next: null })) }],
  [
    'sessions.one-at-a-time',
    'executes two runs of a session at once',
    {
      request: bodies((body) => body.replace(/(mark\\":[^]*"session_id":")/, '$1other-')),
    },
  ],
  [
    'sessions.erase',
    'says that it has erased, and does not',
    {
      instead: ({ method, path }) =>
        method === 'DELETE' && /sessions/.test(path) ? { status: 204 } : undefined,
    },
  ],
  [
    'sessions.replace',
    'does not know Session-After',
    { request: ({ headers }) => delete headers['session-after'] },
  ],
  [
    'sessions.replace-refused',
    'reads each Session-After as 0',
    {
      request: ({ headers }) => {
        if (headers['session-after'] !== undefined) headers['session-after'] = '0';
      },
    },
  ],
  [
    'sessions.fork',
    'has no forks',
    { instead: ({ path }) => (path.endsWith('/fork') ? { status: 404 } : undefined) },
  ],
  [
    'sessions.fork-refused',
    'gives each fork another id',
    { request: bodies((body) => body.replace(/"session_id":"session-[^"]*"}$/, '"session_id":null}')) },
  ],
  [
    'files.answer',
    'sends the content along',
    {
      stream: envelopes((envelope) => {
        if (envelope.type === 'file') envelope.data['base64'] = 'SGk=';
        return envelope;
      }),
    },
  ],
  [
    'files.download',
    'loses the last byte',
    {
      body: (body, { request }) => (/files/.test(request.path) ? body.subarray(0, -1) : body),
    },
  ],
  [
    'files.headers',
    'lets browsers show files as pages',
    {
      head: ({ headers }) => delete headers['content-security-policy'],
    },
  ],
  ['files.range', 'does not know Range', { request: ({ headers }) => delete headers.range }],
  [
    'lists.runs',
    'lists the oldest first',
    {
      body: json((list) => ({ ...list, runs: (list['runs'] as unknown[])?.toReversed() })),
    },
  ],
  [
    'lists.status',
    'does not know the parameter status',
    {
      request: (request) => (request.path = request.path.replace(/&status=\w+/, '')),
    },
  ],
  [
    'lists.pages',
    'begins each page at the newest',
    {
      request: (request) => (request.path = request.path.replace(/&after=[^&]+/, '')),
    },
  ],
  [
    'lists.usage',
    'adds up by day always',
    {
      request: (request) => (request.path = request.path.replace('by=model', 'by=day')),
    },
  ],
  [
    'lists.parameters',
    'corrects limits',
    {
      request: (request) => (request.path = request.path.replace(/limit=(?:0|501|x)/, 'limit=50')),
    },
  ],
  [
    'input.stream',
    'has the run as JSON alone',
    {
      request: ({ path, headers }) =>
        /inputs$/.test(path) && setHeader(headers, 'accept', 'application/json'),
    },
  ],
  ['input.faults', 'does not say what is wrong', { body: json(({ errors, ...problem }) => problem) }],
  [
    'input.lists',
    'lists no open request',
    { body: json((list) => ({ ...list, ...('inputs' in list && { inputs: [] }) })) },
  ],
  [
    'input.cancel',
    'does not close requests',
    { stream: envelopes((envelope) => (envelope.type === 'input_resolved' ? undefined : envelope)) },
  ],
  ['input.session', 'does not name the run that asks', { body: json(({ asking, ...page }) => page) }],
  [
    'access.missing',
    'does not say how to get access',
    {
      head: ({ headers }) => delete headers['www-authenticate'],
    },
  ],
  [
    'access.wrong',
    'accepts every key',
    {
      request: ({ headers }) => 'x-api-key' in headers && setHeader(headers, 'x-api-key', OWN.key),
    },
  ],
  [
    'access.owner-runs',
    'says whether a run exists that belongs to another',
    {
      head: (head) => (head.status = head.status === 404 ? 403 : head.status),
    },
  ],
  ['access.owner-sessions', 'has one owner for all', ONE_OWNER],
  ['access.owner-keys', 'has the keys of all owners in one table', ONE_OWNER],
  ['access.owner-lists', 'lists the runs of all', ONE_OWNER],
];
