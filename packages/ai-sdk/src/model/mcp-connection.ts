import { Logger } from '@nestjs/common';
import type { MCPClient } from '@ai-sdk/mcp';
import type { ToolSet } from 'ai';
import { stackForLog, textForLog } from 'nest-agent-query/agents';
import { guardedFetch } from './guarded-fetch.js';
import { isProgram, type McpServerOptions } from './mcp-options.js';
import { McpProgram } from './mcp-program.js';

/** How long a server may take to start and to say which tools it has. */
const START_MS = 30_000;

/** How long a tool may take. */
const TOOL_MS = 300_000;

/** A tool as the client of the SDK makes it. */
type ClientTool = ToolSet[string];

interface Connected {
  client: MCPClient;
  tools: ToolSet;
}

/** One MCP server. It is connected to, or started, when it is needed, and again when it was lost. */
export class McpConnection {
  static readonly #logger = new Logger('MCP');
  #connected: Promise<Connected> | undefined;
  #isClosed = false;

  constructor(
    readonly name: string,
    private readonly options: McpServerOptions,
    private readonly environment: Record<string, string | undefined>,
  ) {}

  /** The tools of the server. @throws the reason why there is no connection, which is in the log too */
  async tools(): Promise<ToolSet> {
    return (await this.#connect()).tools;
  }

  /** Calls a tool, of a server that is started again if it was lost. */
  async call(
    tool: string,
    args: unknown,
    options: Parameters<NonNullable<ClientTool['execute']>>[1],
  ): Promise<unknown> {
    const connected = await this.#connect();
    const { execute } = connected.tools[tool] ?? {};
    if (!execute) throw new Error(`The MCP server ${this.name} no longer has the tool ${tool}.`);
    const signals = [AbortSignal.timeout(TOOL_MS), ...(options.abortSignal ? [options.abortSignal] : [])];
    try {
      return (await execute(args, { ...options, abortSignal: AbortSignal.any(signals) })) as unknown;
    } catch (error) {
      // A session of HTTP may be gone with the server that had it. Other calls may still use the connection.
      if (!isProgram(this.options) && !options.abortSignal?.aborted) this.#connected = undefined;
      throw error;
    }
  }

  /** Ends the connection, and the server if it is a program. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const connected = await this.#connected?.catch(() => undefined);
    await connected?.client.close();
  }

  #connect(): Promise<Connected> {
    if (this.#isClosed) throw new Error('The service stops.');
    if (this.#connected) return this.#connected;
    const connected = this.#open(() => {
      if (this.#connected === connected) this.#connected = undefined;
    });
    this.#connected = connected;
    connected.catch((error: unknown) => {
      if (this.#connected === connected) this.#connected = undefined;
      McpConnection.#logger.error(`The MCP server ${this.name} cannot be used.`, stackForLog(error));
    });
    return connected;
  }

  /** @param lost called when the connection cannot be used any more */
  async #open(lost: () => void): Promise<Connected> {
    const { createMCPClient } = await import('@ai-sdk/mcp');
    const client = await createMCPClient({
      transport: this.#transport(lost),
      clientName: 'nest-agent-query',
      initializationOptions: { timeout: START_MS },
      onUncaughtError: (error) => McpConnection.#logger.debug(`${this.name}: ${textForLog(String(error))}`),
    });
    try {
      return { client, tools: (await client.tools()) as ToolSet };
    } catch (error) {
      await client.close();
      throw error;
    }
  }

  #transport(lost: () => void): Parameters<typeof import('@ai-sdk/mcp').createMCPClient>[0]['transport'] {
    const { options } = this;
    if (!isProgram(options)) {
      const { type, url, headers = {} } = options;
      const fetch = guardedFetch(globalThis.fetch, Object.values(headers));
      return { type: type === 'sse' ? 'sse' : 'http', url, headers, fetch };
    }
    const wrote = (line: string) =>
      McpConnection.#logger.log(`${this.name}: ${textForLog(line).slice(0, 1_000)}`);
    const ended = (how: string) => {
      lost();
      if (this.#isClosed) return;
      McpConnection.#logger.warn(
        `The MCP server ${this.name} has ended ${how}. It is started again when it is needed.`,
      );
    };
    return new McpProgram(options, { wrote, ended }, this.environment);
  }
}
