import { OutgoingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Frames } from './frames.js';

/**
 * The socket of a response, if its body may be written there as chunks.
 *
 * Node's `response.write` gives the socket a chunk in four pieces, which for short texts costs half as much again as one
 * piece with the same bytes. So chunks are put together here, unless somebody else has a hand in the response: a middleware
 * that compresses or counts has a `write` of its own, HTTP/1.0 has no chunks and HTTP/2 others, and the response to a
 * pipelined request has no socket yet.
 *
 * @param response one whose headers have been written
 */
export function chunkSocket(response: ServerResponse): Socket | undefined {
  const isOurs = response.chunkedEncoding && response.write === OutgoingMessage.prototype.write;
  return (isOurs && response.socket) || undefined;
}

/** Writes one chunk (RFC 9112 §7.1). Returns whether the connection takes more at once. */
export function writeChunk(socket: Socket, { text, bytes, encoding }: Frames): boolean {
  const takesMore = socket.write(`${bytes.toString(16)}\r\n${text}\r\n`, encoding);
  // A long text counts as too much at once even where the system has taken all of it meanwhile.
  return takesMore || socket.writableLength === 0;
}
