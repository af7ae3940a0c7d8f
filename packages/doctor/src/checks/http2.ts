import type { Caller } from '../caller.js';
import { type Finding, ok, problem, seconds, unknown, warning } from '../finding.js';
import { connectOverTls, exchangeOverHttp2, type Http2Request } from '../http2-exchange.js';
import type { Exchange } from '../exchange.js';
import { serviceProblem, whatCame } from '../problem-body.js';
import { bodyOf, isWhole, readStream } from '../timed-stream.js';
import { heldBackMs, unfinished } from './streaming.js';

const TIMETABLE = { count: 5, intervalMs: 250 };

/** A browser sends the length of what it has whole. Lighttpd refuses a body without it (411). */
const STREAM = bodyOf(TIMETABLE);

const QUERY: Http2Request = {
  headers: {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(STREAM)),
    accept: 'text/event-stream',
  },
  write: (request) => void request.end(STREAM),
};

/** How long the body waits for the refusal. A proxy that collects bodies passes nothing on before its end. */
const EARLY_MS = 2_000;

const HALF = Buffer.alloc(32 * 1024, 'x');

/** The service refuses the content type by the headers. The body does not end before that. */
const REFUSED: Http2Request = {
  headers: { 'content-type': 'text/plain', 'content-length': String(2 * HALF.length) },
  write: (request) => {
    request.write(HALF);
    const late = setTimeout(() => request.end(HALF), EARLY_MS);
    request.once('close', () => clearTimeout(late));
  },
};

/** Checks a stream over HTTP/2, as browsers would use it, and a refusal while a body is sent. */
export async function checkHttp2(caller: Caller): Promise<Finding[]> {
  if (caller.target.origin.protocol === 'http:') return neither('browsers use HTTP/2 with https only');
  const [one, other] = await Promise.all([over(caller, QUERY), over(caller, REFUSED)]);
  if (one === 'no connection' || other === 'no connection') return neither('there was no connection');
  if (one === 'not offered' || other === 'not offered') {
    const measured = 'is not offered: a browser has six connections, and each stream takes one';
    return [warning('http2', measured, 'http2'), unknown('http2-uploads', 'HTTP/2 is not offered')];
  }
  return [streamOf(one), refusalOf(other)];
}

function neither(why: string): Finding[] {
  return [unknown('http2', why), unknown('http2-uploads', why)];
}

async function over(
  caller: Caller,
  request: Http2Request,
): Promise<Exchange | 'not offered' | 'no connection'> {
  const socket = await connectOverTls(caller.target);
  if (!socket) return 'no connection';
  if (socket.alpnProtocol === 'h2') return exchangeOverHttp2(caller, socket, request);
  socket.destroy();
  return 'not offered';
}

function streamOf(exchange: Exchange): Finding {
  const stream = readStream(exchange);
  if (exchange.head?.status !== 200)
    return problem('http2', `a query over HTTP/2 has no stream: ${whatCame(exchange)}`, 'http2');
  if (!isWhole(stream)) return unfinished('http2', stream);
  const held = heldBackMs(stream);
  if (held > 2 * TIMETABLE.intervalMs)
    return problem('http2', `events over HTTP/2 are held back for ${seconds(held)}`, 'buffering');
  return ok('http2', 'events arrive one by one over HTTP/2 too');
}

/** Whether the answer comes early or late, the check of uploads tells. */
function refusalOf(exchange: Exchange): Finding {
  const { head, end } = exchange;
  if (serviceProblem(exchange)?.code === 'unsupported_media_type')
    return ok('http2-uploads', 'a refusal arrives over HTTP/2 too, while the body is sent');
  if (head || end === 'stopped')
    return unknown('http2-uploads', `the refusal of an upload did not arrive: ${whatCame(exchange)}`);
  const measured = `the refusal is lost: ${whatCame(exchange)} while the body was sent`;
  return problem('http2-uploads', measured, 'http2-uploads');
}
