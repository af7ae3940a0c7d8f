import { Logger } from '@nestjs/common';
import {
  type AuthInfo,
  type CallToolResult,
  createMcpHandler,
  isCallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  Server,
} from '@modelcontextprotocol/server';
import { stackForLog } from 'nest-agent-query/agents';
import { takeResponse } from 'nest-agent-query/protocol';
import { QueryError } from 'nest-agent-query';
import { Calls } from './calls.js';
import { sessionHeader, TASKS } from './client-facts.js';
import type { Call, Exchange } from './exchange.js';
import { isObject } from './json.js';
import { MANIFEST } from './manifest.cjs';
import type { McpSettings } from './mcp-options.js';
import { Origins } from './origins.js';
import { PushedAnswers } from './pushed-questions.js';
import { Tasks } from './tasks.js';
import type { AgentTools } from './tools.js';
import { answerAsWeb } from './web-exchange.js';

/** Answers the messages of clients. Nothing is kept from one message to the next. */
export class AgentServer {
  /** Whose requests it answers. */
  readonly origins: Origins;
  readonly #logger = new Logger('Mcp');
  readonly #calls: Calls;
  readonly #tasks: Tasks;
  readonly #answers: PushedAnswers;
  #made: ReturnType<typeof createMcpHandler> | undefined;

  constructor(
    settings: McpSettings,
    private readonly tools: AgentTools,
  ) {
    this.origins = new Origins(settings);
    this.#tasks = new Tasks(settings, tools);
    this.#calls = new Calls(settings, tools, this.#tasks);
    this.#answers = new PushedAnswers(tools);
  }

  /** @throws {QueryError} a response of a client that is not valid */
  async answer(exchange: Exchange): Promise<void> {
    const { message } = exchange;
    if (Array.isArray(message))
      throw new QueryError('invalid_query', 'The body must be one message: batches are not supported.');
    if (isObject(message)) await this.#takeLegacy(exchange, message);
    // What the SDK passes on with a request, unchanged.
    const authInfo: AuthInfo = { token: '', clientId: '', scopes: [], extra: { exchange } };
    const fetch = async (request: Request) => {
      const response = await this.#handler().fetch(request, {
        authInfo,
        ...(message !== undefined && { parsedBody: message }),
      });
      if (isObject(message) && message['method'] === 'initialize' && response.ok)
        response.headers.set(...sessionHeader(message['params']));
      // It is the default of HTTP/1.1, and HTTP/2 has no such header.
      response.headers.delete('connection');
      return response;
    };
    await answerAsWeb(exchange, takeResponse(exchange.response), fetch);
  }

  /** Made with the first message: the tools are not known before the modules are initialized. */
  #handler() {
    const keepAliveMs = Math.min(...this.tools.all.map(({ endpoint }) => endpoint.keepAliveMs));
    return (this.#made ??= createMcpHandler(
      ({ era, authInfo }) => this.#serverOf(authInfo!.extra!['exchange'] as Exchange, era),
      { keepAliveMs },
    ));
  }

  /** What clients of the version 2025-11-25 send in requests of their own, and belongs to a call. */
  async #takeLegacy(exchange: Exchange, message: Record<string, unknown>): Promise<void> {
    const { method, params } = message;
    if (method === undefined && message['id'] !== undefined) await this.#answers.take(exchange, message);
    else if (method === 'notifications/cancelled' && isObject(params))
      await this.#calls.cancel(exchange.request, params['requestId']);
  }

  #serverOf(exchange: Exchange, era: Call['era']): Server {
    const extensions = era === 'modern' ? { extensions: { [TASKS]: {} } } : {};
    const { name, version } = MANIFEST;
    const server = new Server({ name, version }, { capabilities: { tools: {}, ...extensions } });
    server.setRequestHandler('tools/list', () => ({ tools: this.tools.all.map(({ shown }) => shown) }));
    server.setRequestHandler('tools/call', ({ params: parameters }, { mcpReq }) =>
      this.#safely(async () => {
        const result = await this.#calls.call({ exchange, era, parameters, mcpReq, server });
        // The handler may also return what asks, or a task.
        return (
          isCallToolResult(result) ? server.projectCallToolResult(result, undefined) : result
        ) as CallToolResult;
      }).catch((error: Error) => failedResult(error, exchange)),
    );
    if (era === 'modern') this.#tasks.addTo(server, exchange, (method) => this.#safely(method));
    return server;
  }

  /** What is unexpected, only the log tells. */
  async #safely<T extends Result>(method: () => Promise<T>): Promise<T> {
    try {
      return await method();
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      if (error instanceof QueryError)
        throw new ProtocolError(ProtocolErrorCode.InternalError, error.detail, { code: error.code });
      this.#logger.error('A message could not be answered.', stackForLog(error));
      throw new ProtocolError(
        ProtocolErrorCode.InternalError,
        'The service failed, and has logged the cause.',
      );
    }
  }
}

/** @throws the error, unless the client would ask for the response again after it */
function failedResult(error: Error, { canResume }: Exchange): CallToolResult {
  if (!canResume) throw error;
  return { content: [{ type: 'text', text: error.message }], isError: true };
}
