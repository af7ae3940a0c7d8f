import { Buffer } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Connection, requestOf } from './connection.mjs';

/** What files consist of, in base64: no pattern that a reader could profit from. */
const BLOCK = Buffer.from(randomBytes(48 * 1024).toString('base64'));

/** Sends a file of so many bytes (rounded up to three) within a query, and resolves when it was answered. */
export async function sendFile(port, plan, size) {
  const head = `{"parts":[{"type":"text","text":"${plan}"},{"type":"file","name":"a.bin","mimeType":"application/octet-stream","base64":"`;
  const tail = '"}],"kwargs":{}}';
  const content = 4 * Math.ceil(size / 3);
  const length = head.length + content + tail.length;

  const connection = new Connection(port);
  const { socket } = connection;
  const answered = new Promise((resolve) => (connection.onEnd = resolve));
  connection.ask(requestOf('').replace('Content-Length: 0', `Content-Length: ${length}`) + head);
  for (let sent = 0; sent < content; sent += BLOCK.length) {
    if (!socket.write(BLOCK.subarray(0, content - sent))) await once(socket, 'drain');
  }
  socket.write(tail);
  await answered;
  socket.destroy();
}
