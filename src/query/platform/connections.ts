import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';

/** How often connections are looked at during a shutdown. */
const CLOSING_INTERVAL_MS = 100;

/** A connection of Node's HTTP server. Node stores the response that it is writing in this member. */
type HttpSocket = Socket & { _httpMessage?: object | null };

/**
 * The connections of the host's server. At shutdown, `server.close()` waits for every connection that has sent no complete
 * request, and has stopped its own time-outs for them: one silent client would keep the process alive for ever.
 */
@Injectable()
export class Connections implements OnModuleInit {
  readonly #open = new Set<HttpSocket>();
  #server: http.Server | https.Server | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly adapterHost: HttpAdapterHost) {}

  onModuleInit(): void {
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
   * As soon as the server takes no new connections, closes those on which no response is being written, until none is left.
   * Until then the other routes of the host are served as before.
   */
  closeUnused(): void {
    const server = this.#server;
    if (!server?.listening || this.#timer) return;
    this.#timer = setInterval(() => {
      if (server.listening) return;
      for (const socket of this.#open) if (!socket._httpMessage) socket.destroy();
      if (this.#open.size === 0) clearInterval(this.#timer);
    }, CLOSING_INTERVAL_MS).unref();
  }
}
