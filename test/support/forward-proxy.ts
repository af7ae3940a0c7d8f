import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo, type Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { TLS_FILE } from './faulty-proxy.js';

/** What a forward proxy does. */
interface Options {
  /** The status with which it refuses everything. Default: it refuses nothing. */
  refuses?: number;
  /** Whether it closes each connection without an answer. Default false. */
  closes?: boolean;
  /** Whether it is asked over TLS, as `localhost`. Default false. */
  isSecure?: boolean;
}

/** A forward proxy. Whatever address it is asked for, it asks the service of the test. */
export class ForwardingProxy {
  /** What it was asked for: method and address, and the credential if there was one. */
  readonly asked: string[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #server: http.Server;

  private constructor(
    private readonly port: number,
    private readonly options: Options,
  ) {
    const tls = options.isSecure ? readFileSync(TLS_FILE) : undefined;
    this.#server = tls ? https.createServer({ key: tls, cert: tls }) : http.createServer();
    this.#server.on('connection', (socket: Socket) => this.#sockets.add(socket));
    this.#server.on('request', (request, response) => this.#relay(request, response));
    this.#server.on('connect', (request, socket) => this.#connect(request, socket as Socket));
  }

  /** @param service the URL of the service that it asks */
  static async start(service: string, options: Options = {}): Promise<ForwardingProxy> {
    const proxy = new ForwardingProxy(Number(new URL(service).port), options);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  /** Its URL, with a name and a password if there is one of each, such as `ann:secret`. */
  url(credential?: string): string {
    const { port } = this.#server.address() as AddressInfo;
    const who = credential === undefined ? '' : `${credential}@`;
    return this.options.isSecure ? `https://${who}localhost:${port}` : `http://${who}127.0.0.1:${port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #note({ method, url, headers }: http.IncomingMessage): void {
    const credential = headers['proxy-authorization'];
    this.asked.push([method, url, ...(credential === undefined ? [] : [credential])].join(' '));
  }

  #relay(request: http.IncomingMessage, response: http.ServerResponse): void {
    this.#note(request);
    const { refuses, closes } = this.options;
    if (closes) return void request.socket.destroy();
    if (refuses !== undefined) {
      response.writeHead(refuses, { 'Content-Type': 'text/html' });
      return void response.end('<h1>Access denied</h1>');
    }
    const { pathname, search } = new URL(request.url!);
    const { method, headers } = request;
    const to = { host: '127.0.0.1', port: this.port, method, headers, path: pathname + search };
    const asking = http.request(to, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      pipeline(answer, response, () => undefined);
    });
    asking.on('error', () => response.destroy());
    response.on('close', () => asking.destroy());
    request.pipe(asking);
  }

  #connect(request: http.IncomingMessage, socket: Socket): void {
    this.#note(request);
    const { refuses, closes } = this.options;
    if (closes) return void socket.destroy();
    if (refuses !== undefined) return void socket.end(`HTTP/1.1 ${refuses} No\r\nContent-Length: 0\r\n\r\n`);
    const service = net.connect(this.port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connected\r\n\r\n');
      service.pipe(socket).pipe(service);
    });
    service.on('error', () => socket.destroy());
    socket.on('error', () => service.destroy());
    this.#sockets.add(service);
  }
}
