import { OutgoingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Frames } from './frames.js';

/**
 * Returns the socket of a response, if chunks of the body may be written to it directly.
 *
 * Node's `response.write` passes a chunk to the socket in four pieces. For short texts this takes half as long again as one
 * piece with the same bytes, so chunks are built here. This is not possible where a middleware has replaced
 * `response.write` (compression, counting), with HTTP/1.0 (no chunks), with HTTP/2 (frames of its own), and for a pipelined
 * request, which has no socket yet.
 *
 * @param response its headers have been written
 */
export function chunkSocket(response: ServerResponse): Socket | undefined {
  const isOurs = response.chunkedEncoding && response.write === OutgoingMessage.prototype.write;
  return (isOurs && response.socket) || undefined;
}

/** Writes one chunk (RFC 9112 §7.1). Returns whether the connection takes more at once. */
export function writeChunk(socket: Socket, { text, bytes, encoding }: Frames): boolean {
  const takesMore = socket.write(`${bytes.toString(16)}\r\n${text}\r\n`, encoding);
  // Node reports a long text as too much even if the system has already taken all of it.
  return takesMore || socket.writableLength === 0;
}
