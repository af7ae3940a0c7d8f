import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { hasLeft, joinedPieces, rawRequest } from 'nest-agent-query/protocol';
import type { Exchange } from './exchange.js';

/**
 * Answers a request of Node with what a handler of the Fetch standard returns. The adapter of the SDK would make JSON of the body,
 * with the contents of files in it, and keep the headers of a stream back until its first event.
 *
 * @param exchange its long texts replace their marks in the body, and its marks give events their ids
 * @param fetch gets the request without its body. Its signal is aborted when the caller leaves
 */
export async function answerAsWeb(
  exchange: Exchange,
  raw: ServerResponse,
  fetch: (request: Request) => Promise<Response>,
): Promise<void> {
  const { method = 'POST', headers } = exchange.resumes ? RESUMED : rawRequest(exchange.request);
  const left = new AbortController();
  raw.once('close', () => left.abort());
  if (hasLeft(raw)) left.abort();
  const sent = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined || name.startsWith(':') ? [] : [[name, [value].flat().join(', ')]],
  );
  // The SDK looks at the method and the headers only.
  const answer = await fetch(
    new Request('http://localhost/', { method, headers: sent, signal: left.signal }),
  );
  raw.writeHead(answer.status, Object.fromEntries(answer.headers));
  raw.flushHeaders();
  exchange.begin();
  if (!answer.body) return void raw.end();
  // A caller who leaves is no error.
  const chunks = Readable.fromWeb(answer.body as never);
  await pipeline(chunks, (each) => written(each, exchange), raw).catch(() => undefined);
}

/** The head of a message that stands for a stream that goes on. */
const RESUMED: Pick<IncomingMessage, 'method' | 'headers'> = {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
};

/** @param chunks of which none ends within a mark: the SDK makes one of each message */
async function* written(chunks: AsyncIterable<Uint8Array>, exchange: Exchange): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of chunks)
    yield* joinedPieces(exchange.longTexts.pieces(exchange.withId(decoder.decode(chunk, { stream: true }))));
}
