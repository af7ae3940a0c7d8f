/** What the defects of services are made of. */
import type { IncomingHttpHeaders } from 'node:http';
import type { PassedHead, PassedRequest, Pieces, Wrong } from './defective-service.js';

export interface Envelope {
  type: string;
  data: Record<string, unknown>;
}

type Json = Record<string, unknown>;

export function isFull({ headers }: PassedRequest): boolean {
  return /event-stream(?!;q=0$)/i.test(headers.accept ?? '');
}

/** Changes each piece of a stream. */
export function each(change: (piece: string, head: PassedHead) => string): Required<Wrong>['stream'] {
  return async function* (pieces, head) {
    for await (const piece of pieces) yield change(piece, head);
  };
}

/** Changes each envelope of a stream, or leaves it out. */
export function envelopes(change: (envelope: Envelope) => Envelope | undefined): Required<Wrong>['stream'] {
  return each((piece) => {
    const [, id = '', text] = /^(id: .*\n)?data: (.*)\n\n$/.exec(piece) ?? [];
    if (text === undefined) return piece;
    const changed = change(JSON.parse(text) as Envelope);
    return changed ? `${id}data: ${JSON.stringify(changed)}\n\n` : '';
  });
}

/** Sends logs at the end. */
export async function* logsLast(pieces: Pieces): Pieces {
  const logs: string[] = [];
  for await (const piece of pieces) {
    if (piece.includes('"type":"log"')) logs.push(piece);
    else yield piece;
  }
  yield* logs;
}

/** Sends nothing before the end. */
export async function* together(pieces: Pieces): Pieces {
  const all: string[] = [];
  for await (const piece of pieces) all.push(piece);
  yield all.join('');
}

/** Sends in each stream what was sent last in any. */
export function mixed(): Required<Wrong>['stream'] {
  let last = '';
  return each((piece) => {
    const before = last;
    last = piece;
    return before !== '' && before.includes('"message"') ? before + piece : piece;
  });
}

/** Changes the text of each body of a request. */
export function bodies(change: (body: string) => string): Required<Wrong>['request'] {
  return (request) => (request.body = change(request.body));
}

/** Sends files after the texts. */
export function filesLast(body: string): string {
  if (!body.includes('"base64"')) return body;
  const query = JSON.parse(body) as { parts: { type: string }[] };
  query.parts.sort((one, other) => other.type.localeCompare(one.type));
  return JSON.stringify(query);
}

/** Sends with each key what was sent with it first. */
export function firstBodies(): Required<Wrong>['request'] {
  const first = new Map<string, string>();
  return (request) => {
    const key = request.headers['idempotency-key']?.toString();
    if (key === undefined) return;
    if (!first.has(key)) first.set(key, request.body);
    request.body = first.get(key)!;
  };
}

/** Changes the objects of JSON that are no streams. */
export function json(change: (value: Json) => Json): Required<Wrong>['body'] {
  return (body, { headers }) =>
    /json/.test(headers['content-type'] ?? '') ? Buffer.from(JSON.stringify(change(parsed(body)))) : body;
}

/** Changes each turn of a session. */
export function turns(change: (turn: Json) => unknown): Required<Wrong>['body'] {
  return json((page) => {
    for (const turn of (page['turns'] as Json[] | undefined) ?? []) change(turn);
    return page;
  });
}

/** Sets a header that the request has. */
export function setHeader(headers: IncomingHttpHeaders, name: string, value: string | undefined): void {
  if (headers[name] !== undefined) headers[name] = value;
}

function parsed(body: Buffer): Json {
  return JSON.parse(body.toString()) as Json;
}
