import http2 from 'node:http2';
import { isIP } from 'node:net';
import tls from 'node:tls';
import type { Caller } from '../caller.js';
import { type Exchange, Recording } from '../exchange.js';
import { type Finding, ok, problem, seconds, unknown, warning } from '../finding.js';
import { whatCame } from '../problem-body.js';
import { bodyOf, isWhole, readStream } from '../timed-stream.js';
import { heldBackMs, unfinished } from './streaming.js';

const TIMETABLE = { count: 5, intervalMs: 250 };
const LIMIT_MS = 15_000;

/** Checks a stream over HTTP/2, as browsers would use it. */
export async function checkHttp2(caller: Caller): Promise<Finding> {
  const { origin } = caller.target;
  if (origin.protocol === 'http:') return unknown('http2', 'browsers use HTTP/2 with https only');
  const socket = await connect(origin);
  if (!socket) return unknown('http2', 'there was no connection');
  if (socket.alpnProtocol !== 'h2') {
    socket.destroy();
    const measured = 'is not offered: a browser has six connections, and each stream takes one';
    return warning('http2', measured, 'http2');
  }
  const stream = readStream(await exchange(caller, socket));
  if (stream.exchange.head?.status !== 200)
    return problem('http2', `a query over HTTP/2 has no stream: ${whatCame(stream.exchange)}`, 'http2');
  if (!isWhole(stream)) return unfinished('http2', stream);
  const held = heldBackMs(stream);
  if (held > 2 * TIMETABLE.intervalMs)
    return problem('http2', `events over HTTP/2 are held back for ${seconds(held)}`, 'buffering');
  return ok('http2', 'events arrive one by one over HTTP/2 too');
}

function connect(origin: URL): Promise<tls.TLSSocket | undefined> {
  return new Promise((resolve) => {
    const host = origin.hostname.replace(/^\[|\]$/g, '');
    const socket = tls.connect({
      host,
      port: Number(origin.port || 443),
      // An address is no name (RFC 6066 §3).
      ...(isIP(host) === 0 && { servername: host }),
      ALPNProtocols: ['h2', 'http/1.1'],
      timeout: LIMIT_MS,
    });
    const fail = () => {
      socket.destroy();
      resolve(undefined);
    };
    socket.once('error', fail).once('timeout', fail);
    socket.once('secureConnect', () => {
      socket.off('error', fail).off('timeout', fail);
      resolve(socket);
    });
  });
}

/** The same as an exchange over HTTP/1.1. */
function exchange({ target, diagnosticPath, heads }: Caller, socket: tls.TLSSocket): Promise<Exchange> {
  const session = http2.connect(target.origin, { createConnection: () => socket });
  const recording = new Recording(LIMIT_MS, () => session.destroy());
  const fail = (error: Error) => {
    recording.fail(error);
    recording.end('cut');
  };
  session.on('error', fail);
  const body = bodyOf(TIMETABLE);
  const request = session.request({
    ':method': 'POST',
    ':path': diagnosticPath,
    'content-type': 'application/json',
    // As browsers do. lighttpd refuses a request without it, and with HTTP/2 alone.
    'content-length': Buffer.byteLength(body),
    accept: 'text/event-stream',
    ...target.headers,
  });
  request.on('error', fail);
  request.on('response', (headers) => heads.push(recording.head(headers[':status'] ?? 0, headers)));
  request.on('data', (bytes: Buffer) => recording.piece(bytes));
  request.on('end', () => recording.end('whole'));
  request.end(body);
  return recording.ended;
}
