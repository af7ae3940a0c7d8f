import type { EventEmitter } from 'node:events';
import { OutgoingMessage, type ServerResponse } from 'node:http';
import type { Frames } from './frames.js';

/**
 * Writes to a response whose headers have been written, as one chunk (RFC 9112 §7.1).
 *
 * Node's `response.write` gives the socket a chunk in four pieces, which for short texts costs about twice as much as one
 * piece with the same bytes. So the chunk is put together here and goes to the socket, unless somebody else has a hand in
 * the response: a middleware that compresses or counts has a `write` of its own, HTTP/1.0 has no chunks and HTTP/2 others,
 * and the response to a pipelined request has no socket yet.
 *
 * @returns undefined where the connection takes more at once; otherwise who emits `drain` when it does. What was written is
 * kept meanwhile, and will be sent.
 */
export function writeChunk(response: ServerResponse, { text, bytes }: Frames): EventEmitter | undefined {
  const encoding = bytes === text.length ? 'latin1' : 'utf8';
  const { socket } = response;
  if (socket?.writable && response.chunkedEncoding && response.write === OutgoingMessage.prototype.write) {
    return socket.write(`${bytes.toString(16)}\r\n${text}\r\n`, encoding) ? undefined : socket;
  }
  return response.write(text, encoding) ? undefined : response;
}
