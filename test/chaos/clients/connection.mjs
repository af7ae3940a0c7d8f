/** Connections that are written and read by hand, so that they can do what no client library would. */
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as nextTick } from 'node:timers/promises';

/** So many addresses of the loopback network are used in turn, so that closed connections do not use up the ports of one. */
const ADDRESSES = 200;
let opened = 0;

/** Opens a connection. With `slowly`, it reads one byte at a time; with `deaf`, nothing. */
export async function open(port, { slowly = false, deaf = false } = {}) {
  const received = [];
  const buffer = Buffer.alloc(slowly ? 1 : 64 * 1024);
  const socket = connect({
    port,
    host: '127.0.0.1',
    localAddress: `127.0.0.${2 + (opened++ % ADDRESSES)}`,
    noDelay: true,
    onread: {
      buffer,
      callback: (length) => {
        received.push(Buffer.from(buffer.subarray(0, length)));
        connection.onData?.();
        return true;
      },
    },
  });
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const connection = new Connection(socket, received, closed);
  await Promise.race([once(socket, 'connect'), closed]);
  if (deaf) socket.pause();
  return connection;
}

class Connection {
  onData;

  constructor(socket, received, closed) {
    this.socket = socket;
    this.received = received;
    /** Resolves when the connection is closed. */
    this.closed = closed;
  }

  get bytes() {
    return Buffer.concat(this.received);
  }

  /** What was received, one character per byte. */
  get text() {
    return this.bytes.toString('latin1');
  }

  send(bytes) {
    if (!this.socket.destroyed) this.socket.write(bytes);
    return this;
  }

  async sendByteByByte(bytes) {
    for (let at = 0; at < bytes.length; at++) {
      this.send(bytes.subarray(at, at + 1));
      await nextTick();
    }
    return this;
  }

  /** Resolves with what was received when it fulfils a condition, or when the connection is closed. */
  async until(isEnough) {
    const enough = new Promise((resolve) => {
      this.onData = () => isEnough(this.text) && resolve();
      this.onData();
    });
    await Promise.race([enough, this.closed]);
    return this.text;
  }

  /** Closes the connection: with a reset, or in order and without reading what still comes. */
  async cut(isReset) {
    // A socket that is being shut down cannot be reset: Node would leave it open (`reset EINVAL`).
    if (isReset && !this.socket.writableEnded) this.socket.resetAndDestroy();
    else {
      // What was written must leave before the end.
      this.socket.end();
      this.socket.destroySoon();
    }
    await this.closed;
  }
}

/** Whether an answer is complete: chunked, with a length, or without a body. */
export function isComplete(text) {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return false;
  const length = /^content-length: (\d+)/im.exec(text.slice(0, head))?.[1];
  if (length !== undefined) return text.length >= head + 4 + Number(length);
  if (/^transfer-encoding: chunked/im.test(text.slice(0, head))) return text.endsWith('\r\n0\r\n\r\n');
  return true;
}

/** The body of one answer as text, without its chunks. What is incomplete at the end is left out. */
export function bodyOf(bytes) {
  const head = bytes.indexOf('\r\n\r\n');
  if (head < 0) return '';
  if (!/^transfer-encoding: chunked/im.test(bytes.latin1Slice(0, head)))
    return bytes.toString('utf8', head + 4);
  const chunks = [];
  for (let at = head + 4; ;) {
    const line = bytes.indexOf('\r\n', at);
    const size = line < 0 ? 0 : Number.parseInt(bytes.latin1Slice(at, line), 16);
    if (!size) return Buffer.concat(chunks).toString();
    chunks.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
}

/** The complete events of a stream: the id and the data of each. */
export function eventsOf(bytes) {
  const frames = bodyOf(bytes).split('\n\n').slice(0, -1);
  return frames.flatMap((frame) => {
    const data = /^data: (.*)$/m.exec(frame)?.[1];
    return data === undefined ? [] : [{ id: /^id: (.*)$/m.exec(frame)?.[1], data }];
  });
}

/** Sends one request on a connection of its own, and resolves with the bytes of the whole answer. */
export async function ask(port, bytes, options) {
  const connection = await open(port, options);
  await connection.send(bytes).until(isComplete);
  await connection.cut(false);
  return connection.bytes;
}
