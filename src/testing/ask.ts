import type { IncomingHttpHeaders } from 'node:http';
import type { INestApplication } from '@nestjs/common';
import { eventParser } from 'nest-agent-query-client/streams';
import type { DoneEnvelope, Envelope, Problem, RunEnd } from '../query/index.js';
import { inputsOf, type PartInput, type WirePart, wirePartOf } from './part-input.js';
import { type ReceivedResponse, send } from './send.js';

/** A part to send: as a test writes it, or exactly as it is sent, which may also be wrong. */
export type AskedPart = PartInput | WirePart | { type: unknown };

/** What a query of a test has besides its parts. Every member has a default. */
export interface AskOptions {
  /** Default: none. */
  kwargs?: Record<string, unknown>;
  /** Becomes `kwargs.session_id`. Default: none. */
  sessionId?: string;
  /** Default: none. */
  idempotencyKey?: string;
  /** The id of the last event that the test has: the rest of that run is the answer. Default: none. */
  lastEventId?: string;
  /** Further headers, such as `Authorization`. They replace those of `ask`. */
  headers?: Record<string, string>;
  /** The path with every prefix of the host. Default `/query`. */
  path?: string;
  /** Closes the connection. `ask` then rejects with the reason. */
  signal?: AbortSignal;
}

/** A file of an answer: the data of an envelope of the type `file`. */
export interface AnswerFile {
  name: string;
  mimeType: string;
  /** Bytes. */
  size: number;
  sha256: string;
  /** Where to download it. */
  path: string;
}

/** What a query of a test was answered with. */
export interface Answer {
  /** The HTTP status. */
  status: number;
  headers: IncomingHttpHeaders;
  /** The envelopes in their order, `done` included. */
  envelopes: Envelope[];
  /** The contents of the envelopes of the type `message`, joined. */
  text: string;
  /** The data of the envelopes of the type `file`. */
  files: AnswerFile[];
  /** How the run ended; undefined where there is no stream. */
  end: RunEnd | undefined;
  /** The id of the run; undefined where there is none. */
  runId: string | undefined;
  /** The id of the last event, for `lastEventId`; undefined where there is none. */
  lastEventId: string | undefined;
  /** Why the query was refused; undefined where it was not, or where the host has answered in another form. */
  problem: Problem | undefined;
  /** The body as it was received. */
  body: string;
}

/**
 * Sends a query to an application over HTTP, and reads the answer to its end. The application is told to listen on a free port
 * of the loopback interface, if it does not listen yet; close it when the test is over.
 *
 * A refusal is an answer too: it has a `status`, a `problem`, and no envelopes.
 *
 * @param app an application on Express or on Fastify that imports `QueryModule`
 * @param parts a text, a file, or an array of them
 * @throws {Error} the stream stopped without `done`, there was no response, or the signal was aborted
 *
 * @example
 * const { text } = await ask(app, 'Hello');
 *
 * @example
 * const photo = { name: 'a.png', mimeType: 'image/png', content: bytes };
 * const { status, problem } = await ask(app, ['What is this?', photo], { kwargs: { temperature: 'hot' } });
 */
export async function ask(
  app: INestApplication,
  parts: AskedPart | AskedPart[],
  options: AskOptions = {},
): Promise<Answer> {
  const { sessionId, path = '/query', signal } = options;
  const sent = await Promise.all(
    inputsOf(parts).map(async (part) => (isWire(part) ? part : wirePartOf(part))),
  );
  const kwargs = { ...options.kwargs, ...(sessionId !== undefined && { session_id: sessionId }) };
  const body = JSON.stringify({ parts: sent, kwargs });
  const response = await send(app, { path: absolute(path), headers: headersOf(options), body, signal });
  return answerOf(response);
}

function isWire(part: AskedPart): part is WirePart | { type: unknown } {
  return typeof part === 'object' && 'type' in part && !(part instanceof File);
}

function absolute(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}

function headersOf({ idempotencyKey, lastEventId, headers }: AskOptions): Record<string, string> {
  return {
    accept: 'text/event-stream',
    'content-type': 'application/json',
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    ...Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])),
  };
}

function answerOf(response: ReceivedResponse): Answer {
  const { status, headers, body, cut } = response;
  const type = headers['content-type'] ?? '';
  const events = type.startsWith('text/event-stream') ? eventsOf(body) : undefined;
  const end = events && endOf(events, response);
  if (!events && cut) throw new Error(`The response of status ${status} was cut.`, { cause: cut });
  const envelopes = (events ?? []).map(({ envelope }) => envelope);
  const dataOf = (wanted: string) =>
    envelopes.filter((envelope) => envelope.type === wanted).map(({ data }) => data as never);
  return {
    status,
    headers,
    envelopes,
    text: dataOf('message')
      .map(({ content }) => content)
      .join(''),
    files: dataOf('file'),
    end,
    runId: (headers['content-location'] ?? headers.location)?.split('/').at(-1),
    lastEventId: events?.at(-1)?.id,
    problem: type === 'application/problem+json' ? (JSON.parse(body) as Problem) : undefined,
    body,
  };
}

interface Event {
  /** Undefined in the plain profile. */
  id: string | undefined;
  envelope: Envelope;
}

/** The events of a stream. An event that was cut is left out. */
function eventsOf(text: string): Event[] {
  const events: Event[] = [];
  eventParser({ onEvent: ({ id, data }) => events.push({ id, envelope: parsed(data) }) })(Buffer.from(text));
  return events;
}

function parsed(data: string): Envelope {
  try {
    return JSON.parse(data) as Envelope;
  } catch (error) {
    throw new Error(`The data of an event is not JSON: ${data.slice(0, 200)}`, { cause: error });
  }
}

function endOf(events: Event[], { body, cut }: ReceivedResponse): RunEnd {
  const last = events.at(-1)?.envelope;
  if (last?.type === 'done') return (last as DoneEnvelope).data;
  const received = last
    ? `after ${events.length} envelopes, the last of which is ${JSON.stringify(last)}`
    : 'at once';
  const rest = body === '' ? '' : ` It ended with ${JSON.stringify(body.slice(-200))}.`;
  throw new Error(
    `The stream stopped without \`done\`, ${received}.${rest} The connection was cut, or the application was closed.`,
    { cause: cut },
  );
}
