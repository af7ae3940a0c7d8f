import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AgentCard, type Artifact, type Message, type Part, Role, TaskState } from '@a2a-js/sdk';
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
  type TaskStore,
} from '@a2a-js/sdk/server';
import { jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import express from 'express';
import { eventuallyElsewhere } from '../../../test/support/conditions.js';

export const CARD = '/.well-known/agent-card.json';

export type Binding = 'JSONRPC' | 'HTTP+JSON';

export function text(value: string): Part {
  return part({ $case: 'text', value });
}

export function part(content: NonNullable<Part['content']>, filename = '', mediaType = ''): Part {
  return { content, filename, mediaType, metadata: undefined };
}

/** A task, as a script tells what becomes of it. */
export class ScriptedTask {
  #messages = 0;

  constructor(
    readonly request: RequestContext,
    private readonly bus: ExecutionEventBus,
  ) {}

  get message(): Message {
    return this.request.userMessage;
  }

  /** Whether the message answers what the task has asked. */
  get isAnswer(): boolean {
    return this.request.task !== undefined;
  }

  begin(): void {
    const { taskId: id, contextId } = this.request;
    const status = { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: now() };
    this.bus.publish(
      AgentEvent.task({ id, contextId, status, artifacts: [], history: [this.message], metadata: undefined }),
    );
  }

  status(state: TaskState, parts: Part[] = []): void {
    const { taskId, contextId } = this.request;
    const message = parts.length > 0 ? this.#agentMessage(parts) : undefined;
    const status = { state, message, timestamp: now() };
    this.bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status, metadata: undefined }));
  }

  works(words?: string): void {
    this.status(TaskState.TASK_STATE_WORKING, words === undefined ? [] : [text(words)]);
  }

  artifact(artifactId: string, parts: Part[], append = false): void {
    const { taskId, contextId } = this.request;
    const artifact: Artifact = {
      artifactId,
      name: '',
      description: '',
      parts,
      metadata: undefined,
      extensions: [],
    };
    this.bus.publish(
      AgentEvent.artifactUpdate({
        taskId,
        contextId,
        artifact,
        append,
        lastChunk: false,
        metadata: undefined,
      }),
    );
  }

  complete(): void {
    this.status(TaskState.TASK_STATE_COMPLETED);
  }

  reply(parts: Part[]): void {
    this.bus.publish(AgentEvent.message(this.#agentMessage(parts)));
  }

  #agentMessage(parts: Part[]): Message {
    const { taskId, contextId } = this.request;
    return {
      messageId: `${taskId}.${this.request.userMessage.messageId}.${++this.#messages}`,
      ...{ taskId, contextId, role: Role.ROLE_AGENT, parts, metadata: undefined, extensions: [] },
      referenceTaskIds: [],
    };
  }
}

export type Script = (task: ScriptedTask) => void | Promise<void>;

/** The next round of the event loop: what was published before is sent. */
export function sent(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

interface Options {
  binding?: Binding | undefined;
  streaming?: boolean;
  port?: number;
  store?: TaskStore;
}

/** The server of the SDK, with an executor that plays a script. */
export class ReferenceAgent {
  script: Script = () => undefined;
  cancelled: Script = (task) => task.status(TaskState.TASK_STATE_CANCELED);
  /** The messages that were executed. */
  readonly messages: Message[] = [];
  /** The calls so far, by their names in JSON-RPC or their paths. */
  readonly calls: string[] = [];
  /** The headers of these calls. */
  readonly headers: http.IncomingHttpHeaders[] = [];
  /** Answers instead of the server, if it returns true. */
  instead: (request: express.Request, response: express.Response) => boolean = () => false;
  readonly #tasks = new Map<string, RequestContext>();

  private constructor(private readonly server: http.Server) {}

  static async start(options: Options = {}): Promise<ReferenceAgent> {
    const app = express();
    const server = http.createServer(app);
    const agent = new ReferenceAgent(server);
    agent.#mount(app, options);
    await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
    return agent;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get url(): string {
    return this.origin + CARD;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Resolves when there were so many calls of a kind. */
  called(kind: RegExp, times = 1): Promise<void> {
    return eventuallyElsewhere(() => this.calls.filter((call) => kind.test(call)).length >= times);
  }

  #mount(
    app: express.Express,
    { binding = 'JSONRPC', streaming = true, store = new InMemoryTaskStore() }: Options,
  ): void {
    const executor: AgentExecutor = {
      execute: async (request, bus) => {
        this.messages.push(request.userMessage);
        this.#tasks.set(request.taskId, request);
        await this.script(new ScriptedTask(request, bus));
      },
      cancelTask: async (id, bus) => this.cancelled(new ScriptedTask(this.#tasks.get(id)!, bus)),
    };
    const requestHandler = new DefaultRequestHandler(cardOf('', binding, streaming), store, executor);
    const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
    app.use(express.json({ limit: '64mb' }));
    app.use((request, response, next) => {
      const { method } = (request.body ?? {}) as { method?: string };
      this.calls.push(request.path === CARD ? 'card' : (method ?? request.path));
      this.headers.push(request.headers);
      if (!this.instead(request, response)) next();
    });
    app.get(CARD, ({ headers }, response) => {
      response.json(cardOf(`http://${headers.host}/a2a`, binding, streaming));
    });
    app.use('/a2a', binding === 'JSONRPC' ? jsonRpcHandler(options) : restHandler(options));
  }
}

function cardOf(url: string, protocolBinding: Binding, streaming: boolean): AgentCard {
  return {
    name: 'Reference',
    description: 'Plays scripts.',
    supportedInterfaces: [{ url, protocolBinding, protocolVersion: '1.0', tenant: '' }],
    provider: undefined,
    version: '1.0.0',
    capabilities: { streaming, pushNotifications: false, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    signatures: [],
  };
}

function now(): string {
  return new Date().toISOString();
}
