import net from 'node:net';

/** A TCP proxy that cuts a connection after a given number of bytes of what the service behind it sends. */
export class CuttingProxy {
  readonly #sockets = new Set<net.Socket>();
  #left: number | undefined;
  /** Connections that were cut. */
  cuts = 0;

  private constructor(private readonly server: net.Server) {}

  static async before(target: string): Promise<CuttingProxy> {
    const { hostname, port } = new URL(target);
    const server = net.createServer();
    const proxy = new CuttingProxy(server);
    server.on('connection', (socket) => proxy.#join(socket, net.connect(Number(port), hostname)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as net.AddressInfo).port}`;
  }

  /** Cuts the connection on which the byte after so many bytes arrives, counted from now. */
  cutAfter(bytes: number): void {
    this.#left = bytes;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #join(caller: net.Socket, service: net.Socket): void {
    for (const [socket, other] of [
      [caller, service],
      [service, caller],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    caller.pipe(service);
    service.on('data', (chunk) => this.#pass(chunk, caller));
  }

  #pass(chunk: Buffer, caller: net.Socket): void {
    if (this.#left === undefined || chunk.length <= this.#left) {
      if (this.#left !== undefined) this.#left -= chunk.length;
      caller.write(chunk);
      return;
    }
    caller.write(chunk.subarray(0, this.#left), () => caller.destroy());
    this.#left = undefined;
    this.cuts += 1;
  }
}
