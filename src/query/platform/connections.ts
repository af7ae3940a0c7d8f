import http from 'node:http';
import https from 'node:https';
import { Server, type Socket } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type HostResponse, rawResponse, serversOf } from './host.js';

/** How often connections are looked at during a shutdown. */
const CLOSING_INTERVAL_MS = 50;

/** At shutdown: how long callers who have just connected may take to begin their request. */
const BEGINNING_MS = 200;

/** At shutdown: how long callers who connect may keep the server from closing. */
const ACCEPTING_MS = 1_000;

/** At shutdown: a turn of the event loop that takes longer may have missed a caller who connected during it. */
const SHORT_TURN_MS = 0.25;

/** At shutdown, when all runs have ended: how long callers may take to send the rest of a request, or to read an answer. */
const FINISHING_MS = 2_000;

/** A connection of Node's HTTP server. Node stores the response that it is writing in this member. */
type HttpSocket = Socket & { _httpMessage?: object | null };

/** A server that reads nothing from a connection before `resume`, if this member is true. */
type PausingServer = Server & { pauseOnConnect?: boolean };

/** When the callers of all modules of an application must have finished: Nest calls the hooks of modules one after another. */
const deadlines = new WeakMap<HttpAdapterHost, number>();

/**
 * The connections of the host's server. At shutdown, `server.close()` waits for every connection that has sent no complete
 * request, or whose client does not read, and has stopped its own time-outs for them: one silent client would keep the process
 * alive for ever.
 */
@Injectable()
export class Connections implements OnModuleInit {
  readonly #open = new Set<HttpSocket>();
  /** The responses of this module. */
  readonly #own = new WeakSet<object>();
  #stoppedListening: Promise<void> | undefined;
  #server: http.Server | https.Server | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly adapterHost: HttpAdapterHost) {}

  onModuleInit(): void {
    this.#stopListeningFirst();
    // HTTP/2 has no such waits, and an application may serve no HTTP at all.
    const server: unknown = this.adapterHost.httpAdapter?.getHttpServer();
    if (!(server instanceof http.Server) && !(server instanceof https.Server)) return;
    this.#server = server;
    server.on(server instanceof https.Server ? 'secureConnection' : 'connection', (socket: HttpSocket) => {
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
    });
  }

  /**
   * Gives the port free for the next process, and loses no caller who has connected before. Resolves when these have begun their
   * requests, or after {@link BEGINNING_MS}. Connections that are open are served until the runs have ended, each for the request
   * that it has or gets next: from now on the response of a request says `Connection: close`, so that a proxy opens no second one on
   * a connection that is about to end (RFC 9112 9.6).
   */
  stopListening(): Promise<void> {
    return (this.#stoppedListening ??= this.#stopListening());
  }

  async #stopListening(): Promise<void> {
    const servers = serversOf(this.adapterHost.httpAdapter).filter((server) => server instanceof Server);
    for (const server of servers) {
      server.prependListener('request', (_request: unknown, response: { shouldKeepAlive?: boolean }) => {
        response.shouldKeepAlive = false;
      });
    }
    await acceptAllAndClose(servers);
    const until = performance.now() + BEGINNING_MS;
    const isBeginning = () => [...this.#open].some(({ bytesRead }) => bytesRead === 0);
    while (isBeginning() && performance.now() < until) await setTimeout(1);
  }

  /**
   * Lets the server stop listening before any hook of a shutdown. Nest calls `onModuleDestroy` of the modules that import this one
   * first, and waits for them; before all of these it calls `beforeClose` of the adapter, from version 12 on.
   */
  #stopListeningFirst(): void {
    const adapter: { close: () => unknown; beforeClose?: () => unknown } | undefined =
      this.adapterHost.httpAdapter;
    if (!adapter) return;
    const { beforeClose } = adapter;
    adapter.beforeClose = async (): Promise<void> => {
      await beforeClose?.call(adapter);
      await this.stopListening();
    };
  }

  serve(response: HostResponse): void {
    this.#own.add(rawResponse(response));
  }

  /** How long callers may take from now on, in milliseconds. The first call begins that time. */
  get timeLeft(): number {
    const deadline = deadlines.get(this.adapterHost) ?? performance.now() + FINISHING_MS;
    deadlines.set(this.adapterHost, deadline);
    return Math.max(0, deadline - performance.now());
  }

  /**
   * Waits for the requests of this module that are still being sent or answered, and closes those that take too long. From then
   * on closes connections on which no response is being written, until none is left. The other routes of the host are served as
   * before.
   */
  async close(): Promise<void> {
    const answered = () =>
      [...this.#open].filter(({ _httpMessage: answer }) => answer && this.#own.has(answer));
    while (answered().length > 0 && this.timeLeft > 0) await setTimeout(CLOSING_INTERVAL_MS);
    for (const socket of answered()) socket.destroy();
    if (!this.#server || this.#timer) return;
    this.#timer = setInterval(() => {
      for (const socket of this.#open) if (!socket._httpMessage) socket.destroy();
      if (this.#open.size === 0) clearInterval(this.#timer);
    }, CLOSING_INTERVAL_MS).unref();
  }
}

/**
 * Accepts the connections that the system has, and Node has not: the system resets them when the server stops listening. Node
 * accepts one in each turn of the event loop. Nothing is read from them meanwhile, else callers who connect anew for each request
 * would come back as fast as they are answered. Resolves after a short turn that brought none.
 */
async function acceptAllAndClose(servers: PausingServer[]): Promise<void> {
  const accepted: Socket[] = [];
  for (const server of servers) {
    server.pauseOnConnect = true;
    server.on('connection', (socket: Socket) => accepted.push(socket));
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
  for (const server of servers) if (server.listening) Server.prototype.close.call(server);
  for (const socket of accepted) socket.resume();
}
