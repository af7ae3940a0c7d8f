import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type Deferred, deferred } from '../conditions.js';

/** A place where handlers wait until the test lets them go on. */
interface Gate {
  isOpen: boolean;
  waiting: Set<ServerResponse>;
  /** The runs whose handler has come to the gate, in this order; one that comes again is here twice. */
  reached: string[];
  changed: Deferred;
}

/** The gates of a cluster. Handlers in other processes come to them over HTTP. */
export class Gates {
  readonly #gates = new Map<string, Gate>();

  private constructor(private readonly server: Server) {
    server.on('request', (request, response) => {
      const [, name, runId] = request.url!.split('/');
      this.#arrive(this.#gate(name!), runId!, response);
    });
  }

  static async start(): Promise<Gates> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Gates(server);
  }

  get url(): string {
    const { port } = this.server.address() as { port: number };
    return `http://127.0.0.1:${port}`;
  }

  /** Waits until so many handlers have come to a gate, and returns their runs. */
  async reached(name: string, count = 1): Promise<string[]> {
    const gate = this.#gate(name);
    while (gate.reached.length < count) await gate.changed.promise;
    return gate.reached;
  }

  /** Lets all handlers go on that wait at a gate, and those that come later. */
  open(name: string): void {
    const gate = this.#gate(name);
    gate.isOpen = true;
    for (const response of gate.waiting) response.end();
  }

  async close(): Promise<void> {
    for (const name of this.#gates.keys()) this.open(name);
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  #gate(name: string): Gate {
    let gate = this.#gates.get(name);
    if (!gate) {
      gate = { isOpen: false, waiting: new Set(), reached: [], changed: deferred() };
      this.#gates.set(name, gate);
    }
    return gate;
  }

  #arrive(gate: Gate, runId: string, response: ServerResponse): void {
    gate.reached.push(runId);
    const { changed } = gate;
    gate.changed = deferred();
    changed.resolve();
    if (gate.isOpen) return void response.end();
    gate.waiting.add(response);
    response.once('close', () => gate.waiting.delete(response));
  }
}
