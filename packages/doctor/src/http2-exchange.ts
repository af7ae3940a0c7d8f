import http2, { type ClientHttp2Stream } from 'node:http2';
import { isIP } from 'node:net';
import tls from 'node:tls';
import type { Caller } from './caller.js';
import { type Exchange, Recording } from './exchange.js';
import type { Target } from './target.js';

export const LIMIT_MS = 15_000;

const PROTOCOLS = ['h2', 'http/1.1'];

/** Connects with TLS, and offers HTTP/2; undefined if there is no connection. */
export async function connectOverTls({ origin, through }: Target): Promise<tls.TLSSocket | undefined> {
  return through ? through.open(origin, PROTOCOLS).catch(() => undefined) : connect(origin);
}

function connect(origin: URL): Promise<tls.TLSSocket | undefined> {
  return new Promise((resolve) => {
    const host = origin.hostname.replace(/^\[|\]$/g, '');
    const socket = tls.connect({
      host,
      port: Number(origin.port || 443),
      // An address is no name (RFC 6066 §3).
      ...(isIP(host) === 0 && { servername: host }),
      ALPNProtocols: PROTOCOLS,
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

/** The body of a request over HTTP/2, and its headers besides the credential. */
export interface Http2Request {
  headers: Record<string, string>;
  /** Writes the body. */
  write: (request: ClientHttp2Stream) => void;
}

/** The same as an exchange over HTTP/1.1: a `POST` on a connection of its own. */
export function exchangeOverHttp2(
  { target, diagnosticPath, heads }: Caller,
  socket: tls.TLSSocket,
  { headers, write }: Http2Request,
): Promise<Exchange> {
  const session = http2.connect(target.origin, { createConnection: () => socket });
  const recording = new Recording(LIMIT_MS, () => session.destroy());
  const fail = (error: Error) => {
    recording.fail(error);
    recording.end('cut');
  };
  session.on('error', fail);
  const request = session.request({
    ':method': 'POST',
    ':path': diagnosticPath,
    ...headers,
    ...target.headers,
  });
  request.on('error', fail);
  request.on('response', (head) => heads.push(recording.head(head[':status'] ?? 0, head)));
  request.on('data', (bytes: Buffer) => recording.piece(bytes));
  request.on('end', () => recording.end('whole'));
  request.on('close', () => recording.end('cut'));
  write(request);
  return recording.ended;
}
