import http from 'node:http';
import https from 'node:https';
import { Server, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type HostRequest, type HostResponse, rawRequest, rawResponse, serversOf } from './host.js';
import { LastCallers } from './last-callers.js';

/** How often connections are looked at during a shutdown. */
const CLOSING_INTERVAL_MS = 50;

/** At shutdown, when all runs have ended: how long callers may take to send the rest of a request, or to read an answer. */
const FINISHING_MS = 2_000;

/** A connection of Node's HTTP server. Node stores the response that it is writing in this member. */
type HttpSocket = Socket & { _httpMessage?: object | null };

/** When the callers of all modules of an application must have finished: Nest calls the hooks of modules one after another. */
const deadlines = new WeakMap<HttpAdapterHost, number>();

/** The last callers of all modules of an application: these stop listening together. */
const stops = new WeakMap<HttpAdapterHost, LastCallers>();

/** The responses of our routes. */
const served = new WeakSet<object>();

/** At shutdown, the caller of this response has time to send the rest of its request, and to read its answer. */
export function markServed(response: HostResponse): void {
  served.add(rawResponse(response));
}

/**
 * The connections of the host's server. At shutdown, `server.close()` waits for every connection that has sent no complete
 * request, or whose client does not read, and has stopped its own time-outs for them: one silent client would keep the process
 * alive for ever.
 */
@Injectable()
export class Connections implements OnModuleInit {
  readonly #open = new Set<HttpSocket>();
  #server: http.Server | https.Server | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly adapterHost: HttpAdapterHost) {}

  onModuleInit(): void {
    this.#stopListeningFirst();
    // Node does not say which sessions of HTTP/2 have no request, and an application may serve no HTTP at all.
    const server: unknown = this.adapterHost.httpAdapter?.getHttpServer();
    if (!(server instanceof http.Server) && !(server instanceof https.Server)) return;
    this.#server = server;
    server.on(server instanceof https.Server ? 'secureConnection' : 'connection', (socket: HttpSocket) => {
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
    });
  }

  /** Whether a stop has begun, and this is no request of a caller who connected before, and had not asked. */
  refuses(request: object | undefined): boolean {
    // That of the application: all of its modules refuse from the same moment on.
    const lastCallers = stops.get(this.adapterHost);
    if (!lastCallers) return false;
    return !request || !lastCallers.has(rawRequest(request as HostRequest));
  }

  /**
   * Gives the port free for the next process, and resolves when it is free. Connections that are open are served until the runs have
   * ended.
   */
  async stopListening(): Promise<void> {
    await this.#lastCallersOfHost().acceptAndClose();
  }

  /** Stops listening, and resolves when those who had connected have begun to get their answer, or had a second for it. */
  async answerLastCallers(): Promise<void> {
    await this.stopListening();
    await this.#lastCallersOfHost().answered();
  }

  #lastCallersOfHost(): LastCallers {
    return stops.get(this.adapterHost) ?? this.#begunStop();
  }

  #begunStop(): LastCallers {
    const servers = serversOf(this.adapterHost.httpAdapter).filter((server) => server instanceof Server);
    const lastCallers = new LastCallers(servers, this.#open);
    stops.set(this.adapterHost, lastCallers);
    return lastCallers;
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
      await this.stopListening();
      await beforeClose?.call(adapter);
    };
  }

  /** How long callers may take from now on, in milliseconds. The first call begins that time. */
  get timeLeft(): number {
    const deadline = deadlines.get(this.adapterHost) ?? performance.now() + FINISHING_MS;
    deadlines.set(this.adapterHost, deadline);
    return Math.max(0, deadline - performance.now());
  }

  /**
   * Waits for the requests of our routes that are still being sent or answered, and closes those that take too long. From then
   * on closes connections on which no response is being written, until none is left. The other routes of the host are served as
   * before.
   */
  async close(): Promise<void> {
    const answered = () => [...this.#open].filter(({ _httpMessage: answer }) => answer && served.has(answer));
    while (answered().length > 0 && this.timeLeft > 0) await setTimeout(CLOSING_INTERVAL_MS);
    for (const socket of answered()) socket.destroy();
    if (!this.#server || this.#timer) return;
    this.#timer = setInterval(() => {
      for (const socket of this.#open) if (!socket._httpMessage) socket.destroy();
      if (this.#open.size === 0) clearInterval(this.#timer);
    }, CLOSING_INTERVAL_MS).unref();
  }
}
