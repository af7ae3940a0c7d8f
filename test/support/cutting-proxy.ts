import net from 'node:net';

/** A TCP proxy that cuts a connection after a given number of bytes of what either side sends. */
export class CuttingProxy {
  readonly #sockets = new Set<net.Socket>();
  /** Bytes that each side may still send, if it is limited. */
  readonly #left = { service: undefined as number | undefined, caller: undefined as number | undefined };
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
    this.#left.service = bytes;
  }

  /** The same for what the caller sends. */
  cutUploadAfter(bytes: number): void {
    this.#left.caller = bytes;
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
    caller.on('data', (chunk) => this.#pass(chunk, service, 'caller'));
    service.on('data', (chunk) => this.#pass(chunk, caller, 'service'));
  }

  #pass(chunk: Buffer, to: net.Socket, sender: 'caller' | 'service'): void {
    const left = this.#left[sender];
    if (left === undefined || chunk.length <= left) {
      if (left !== undefined) this.#left[sender] = left - chunk.length;
      to.write(chunk);
      return;
    }
    to.write(chunk.subarray(0, left), () => to.destroy());
    this.#left[sender] = undefined;
    this.cuts += 1;
  }
}
