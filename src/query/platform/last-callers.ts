import type { IncomingMessage, ServerResponse } from 'node:http';
import { Server, type Socket } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';

/** How long callers who connect may keep a server from closing. */
const ACCEPTING_MS = 1_000;

/** A turn of the event loop that takes longer may have missed a caller who connected during it. */
const SHORT_TURN_MS = 0.25;

/** How long the last callers may take until their first request is answered. */
const ANSWERING_MS = 1_000;

/** A server that reads nothing from a connection before `resume`, if this member is true. */
type PausingServer = Server & { pauseOnConnect?: boolean };

/**
 * The callers who have connected before servers stop listening, and have not asked yet. Each has one request that is served as if
 * nothing stopped.
 */
export class LastCallers {
  /** Those whose first request has not arrived. TLS gives it another socket, with the same port of the caller. */
  readonly #waiting = new Set<string | Socket>();
  readonly #begun = new Map<object, ServerResponse>();
  #closed: Promise<void> | undefined;
  #answered: Promise<void> | undefined;

  /**
   * @param servers those that stop
   * @param open connections that these have accepted
   */
  constructor(
    private readonly servers: readonly PausingServer[],
    open: Iterable<Socket>,
  ) {
    // After the handshake of TLS a connection has bytes.
    for (const socket of open) if (socket.bytesRead === 0) this.#await(socket);
    for (const server of servers) {
      server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
        if (this.#waiting.delete(keyOf(request.socket))) this.#begun.set(request, response);
      });
    }
  }

  /** Whether this is the first request of such a caller, in the time that it has for it. */
  has(request: object): boolean {
    return this.#begun.has(request);
  }

  /**
   * Accepts the connections that the system has, and Node has not: the system resets them when a server stops listening. Node
   * accepts one in each turn of the event loop. Nothing is read from them meanwhile, else callers who connect anew for each request
   * would come back as fast as they are answered. Then lets the servers stop listening: resolves after a short turn that brought no
   * connection, or after {@link ACCEPTING_MS}. Can be called again.
   */
  acceptAndClose(): Promise<void> {
    return (this.#closed ??= this.#acceptAndClose());
  }

  /**
   * Resolves when the answers to all first requests have begun, or after {@link ANSWERING_MS}. None is served after that. Can be
   * called again.
   */
  answered(): Promise<void> {
    return (this.#answered ??= this.#waitForAnswers());
  }

  async #acceptAndClose(): Promise<void> {
    const accepted: Socket[] = [];
    for (const server of this.servers) {
      server.pauseOnConnect = true;
      // First: TLS takes the handle of the socket, which then does not know its addresses.
      server.prependListener('connection', (socket: Socket) => {
        this.#await(socket);
        accepted.push(socket);
      });
    }
    const until = performance.now() + ACCEPTING_MS;
    let begun: number;
    let before: number;
    // The rest of this turn may not look at the servers.
    await setImmediate();
    do {
      [begun, before] = [performance.now(), accepted.length];
      await setImmediate();
    } while ((accepted.length > before || performance.now() - begun > SHORT_TURN_MS) && begun < until);
    // Not the method of the server itself: it closes connections too that wait for their next request.
    for (const server of this.servers) if (server.listening) Server.prototype.close.call(server);
    for (const socket of accepted) socket.resume();
  }

  async #waitForAnswers(): Promise<void> {
    const until = performance.now() + ANSWERING_MS;
    while (this.#isAsked() && performance.now() < until) await setTimeout(1);
    this.#waiting.clear();
    this.#begun.clear();
  }

  #await(socket: Socket): void {
    const key = keyOf(socket);
    this.#waiting.add(key);
    socket.once('close', () => this.#waiting.delete(key));
  }

  #isAsked(): boolean {
    if (this.#waiting.size > 0) return true;
    return [...this.#begun.values()].some(({ headersSent, destroyed }) => !headersSent && !destroyed);
  }
}

/** A socket of Unix has no address. */
function keyOf(socket: Socket): string | Socket {
  const { remoteAddress, remotePort } = socket;
  return remotePort === undefined ? socket : `${remoteAddress} ${remotePort}`;
}
