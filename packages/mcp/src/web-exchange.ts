import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { hasLeft, type HostRequest, joinedPieces, rawRequest } from 'nest-agent-query/protocol';
import type { LongTexts } from './long-texts.js';

/**
 * Answers a request of Node with what a handler of the Fetch standard returns. The adapter of the SDK would make JSON of the body,
 * with the contents of files in it, and keep the headers of a stream back until its first event.
 *
 * @param longTexts replace their marks in the body
 * @param fetch gets the request without its body. Its signal is aborted when the caller leaves
 */
export async function answerAsWeb(
  request: HostRequest,
  raw: ServerResponse,
  longTexts: LongTexts,
  fetch: (request: Request) => Promise<Response>,
): Promise<void> {
  const { method = 'POST', headers } = rawRequest(request);
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
  if (!answer.body) return void raw.end();
  // A caller who leaves is no error.
  const chunks = Readable.fromWeb(answer.body as never);
  await pipeline(chunks, (each) => withTexts(each, longTexts), raw).catch(() => undefined);
}

/** @param chunks of which none ends within a mark: the SDK makes one of each message */
async function* withTexts(chunks: AsyncIterable<Uint8Array>, longTexts: LongTexts): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of chunks)
    yield* joinedPieces(longTexts.pieces(decoder.decode(chunk, { stream: true })));
}
