import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import {
  type FakeModel,
  type ModelAct,
  type ModelMessageSeen,
  ModelRefusal,
} from '../../../../test/contracts/adapters/fake-model.js';

interface Tool {
  name: string;
  execute: ((args: Record<string, unknown>) => unknown) | undefined;
}

type WireMessage = Omit<ModelMessageSeen, 'files'> & { files: { mimeType: string; base64: string }[] };

interface Line {
  id: number;
  request?: { messages: WireMessage[]; tools: string[] };
  next?: true;
  tool?: string;
  arguments?: Record<string, unknown>;
  abort?: true;
}

/** Offers a fake model and its tools to the processes of an agent, on a free port of the loopback interface. */
export class ModelServer {
  #server: Server;
  #sockets = new Set<Socket>();

  private constructor(
    private readonly model: FakeModel,
    private readonly tools: Tool[],
  ) {
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async start(model: FakeModel, tools: Tool[]): Promise<ModelServer> {
    const server = new ModelServer(model, tools);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    const step = new Steps(this.model);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#sockets.delete(socket);
      step.abort();
    });
    const lines = createInterface({ input: socket });
    // A process that was killed resets its connection.
    lines.on('error', () => undefined);
    lines.on('line', (text) => {
      const line = JSON.parse(text) as Line;
      const answer = line.tool === undefined ? step.answer(line) : this.#execute(line);
      void answer.then((result) => {
        if (line.id !== undefined) socket.write(`${JSON.stringify({ id: line.id, ...result })}\n`);
      });
    });
  }

  async #execute({ tool, arguments: args }: Line): Promise<object> {
    try {
      return { result: await this.tools.find(({ name }) => name === tool)!.execute!(args!) };
    } catch (error) {
      return { error: (error as Error).message };
    }
  }
}

/** The steps of the model for one process. */
class Steps {
  #abort = new AbortController();
  #acts: AsyncGenerator<ModelAct> | undefined;

  constructor(private readonly model: FakeModel) {}

  abort(): void {
    this.#abort.abort();
  }

  async answer({ request, next, abort }: Line): Promise<object> {
    if (abort) this.abort();
    if (request) {
      this.#abort = new AbortController();
      const messages = request.messages.map(seen);
      this.#acts = this.model.answer({ messages, tools: request.tools }, this.#abort.signal);
    }
    return next ? this.#next() : {};
  }

  async #next(): Promise<object> {
    try {
      const result = await this.#acts!.next();
      return result.done === true ? {} : { act: written(result.value) };
    } catch (error) {
      if (error instanceof ModelRefusal) return { error: `${error.status} ${error.body}` };
      return { error: (error as Error).message };
    }
  }
}

const written = (act: ModelAct) =>
  act.type === 'file' ? { ...act, base64: Buffer.from(act.bytes).toString('base64'), bytes: undefined } : act;

function seen(message: WireMessage): ModelMessageSeen {
  const files = message.files.map(({ mimeType, base64 }) => ({
    mimeType,
    bytes: Buffer.from(base64, 'base64'),
  }));
  return { ...message, files };
}
