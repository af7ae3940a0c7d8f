import { Buffer } from 'node:buffer';
import { connect } from 'node:net';

/** All connections read into the same memory, one after another. */
const MEMORY = Buffer.allocUnsafe(256 * 1024);
const BLANK_LINE = Buffer.from('\n\n');
const LAST_CHUNK = '0\r\n\r\n';
const NEWLINE = 10;

const COUNT = '@count@';
let count = 0;

/**
 * The bytes of a request.
 *
 * @param isFull whether it asks for the full profile
 */
export function requestOf(body, isFull = false, path = '/query') {
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    'Content-Type: application/json',
    'A2A-Version: 1.0',
    ...(isFull ? ['Accept: text/event-stream'] : []),
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

/**
 * A client's connection that is kept alive: written by hand on a socket, so that the client costs little. `onRead(bytes)`
 * is called with what has come (good until it returns), `onEnd()` when a response is complete.
 */
export class Connection {
  onRead = () => undefined;
  onEnd = () => undefined;
  #tail = '';
  #begins = true;

  constructor(port) {
    this.socket = connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      onread: { buffer: MEMORY, callback: (length) => this.#take(length) },
    });
  }

  ask(request) {
    this.#begins = true;
    const number = String(count++).padStart(COUNT.length, '0');
    this.socket.write(request.includes(COUNT) ? request.replaceAll(COUNT, number) : request);
  }

  #take(length) {
    const bytes = MEMORY.subarray(0, length);
    if (this.#begins && !/^HTTP\/1\.1 20[01]/.test(bytes.latin1Slice(0, 12))) {
      throw new Error(`The server answered ${bytes.latin1Slice(0, Math.min(length, 1000))}`);
    }
    this.#begins = false;
    this.onRead(bytes);
    this.#tail = (this.#tail + bytes.latin1Slice(Math.max(0, length - 5))).slice(-5);
    if (this.#tail === LAST_CHUNK) this.onEnd();
    return true;
  }
}

/** Counts blank lines, of which there is one per event, also where one is cut by the end of what was read. */
export class EventCounter {
  count = 0;
  #endsInNewline = false;

  take(bytes) {
    if (this.#endsInNewline && bytes[0] === NEWLINE) this.count++;
    this.#endsInNewline = bytes[bytes.length - 1] === NEWLINE;
    for (let at = bytes.indexOf(BLANK_LINE); at >= 0; at = bytes.indexOf(BLANK_LINE, at + 2)) this.count++;
  }
}
