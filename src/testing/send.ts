import { once } from 'node:events';
import http, { type IncomingHttpHeaders, type Server } from 'node:http';
import https from 'node:https';
import type { INestApplication } from '@nestjs/common';

/** What a test sends. */
export interface SentRequest {
  /** The whole path, with every prefix of the host. */
  path: string;
  headers: Record<string, string>;
  body: string;
  signal: AbortSignal | undefined;
}

/** A response that was read to its end, or to where it was cut. */
export interface ReceivedResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
  /** Why the body is not complete; undefined if it is. */
  cut: Error | undefined;
}

/** Applications that are about to listen. */
const starting = new WeakMap<INestApplication, Promise<unknown>>();

/**
 * Sends a `POST` over a connection of its own. An application that does not listen yet is told to, on a free port of the
 * loopback interface.
 *
 * @throws what the signal was aborted with, or why there is no response
 */
export async function send(app: INestApplication, request: SentRequest): Promise<ReceivedResponse> {
  const server = app.getHttpServer() as Server;
  if (!server.listening) await startOf(app);
  const { path, headers, body, signal } = request;
  signal?.throwIfAborted();
  const { request: open } = server instanceof https.Server ? https : http;
  const sent = open({
    ...addressOf(server),
    method: 'POST',
    path,
    headers: { ...headers, 'Content-Length': Buffer.byteLength(body) },
    // A connection that is kept would outlive the test.
    agent: false,
    rejectUnauthorized: false,
  });
  // `once` below reports it; after the response, the body tells whether it is complete.
  sent.on('error', () => undefined);
  const abort = () => sent.destroy(signal!.reason as Error);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    sent.end(body);
    const [response] = (await once(sent, 'response')) as [http.IncomingMessage];
    const received = await read(response);
    signal?.throwIfAborted();
    return received;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

async function read(response: http.IncomingMessage): Promise<ReceivedResponse> {
  const chunks: Buffer[] = [];
  let cut: Error | undefined;
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (error) {
    cut = error as Error;
  }
  const { statusCode, headers } = response;
  return { status: statusCode!, headers, body: Buffer.concat(chunks).toString(), cut };
}

function startOf(app: INestApplication): Promise<unknown> {
  const started = starting.get(app) ?? app.listen(0, '127.0.0.1');
  starting.set(app, started);
  return started;
}

function addressOf(server: Server): { socketPath: string } | { host: string; port: number } {
  const address = server.address();
  if (typeof address === 'string') return { socketPath: address };
  if (!address) throw new Error('The application does not listen: it was closed.');
  const isAny = ['::', '0.0.0.0'].includes(address.address);
  return { host: isAny ? 'localhost' : address.address, port: address.port };
}
