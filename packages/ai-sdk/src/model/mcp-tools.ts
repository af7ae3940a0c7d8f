import type { ToolSet } from 'ai';
import { McpConnection } from './mcp-connection.js';
import type { McpServerOptions } from './mcp-options.js';

/** A longer result is cut before a model reads it. */
const RESULT_LENGTH = 100_000;

/** The longest name that endpoints take, and the characters that it may have. */
const NAME_LENGTH = 64;
const NOT_OF_NAME = /[^A-Za-z0-9_-]/g;

/** The tools that can be called now. */
export interface AvailableTools {
  tools: ToolSet;
  /** The names of the servers whose tools are missing. */
  missing: string[];
}

/** The tools of several MCP servers. */
export class McpTools {
  readonly #connections: McpConnection[];

  /** @param environment the variables of the service, of which programs get `HOME`, `PATH` and the like */
  constructor(servers: Record<string, McpServerOptions>, environment: Record<string, string | undefined>) {
    this.#connections = Object.entries(servers).map(
      ([name, options]) => new McpConnection(name, options, environment),
    );
  }

  /** Connects to the servers that are not connected. Never rejects: a server that is lost must not end all answers. */
  async available(): Promise<AvailableTools> {
    const found = await Promise.all(
      this.#connections.map(async (connection) => ({
        connection,
        tools: await connection.tools().catch(() => undefined),
      })),
    );
    const tools: ToolSet = {};
    for (const { connection, tools: own = {} } of found)
      for (const [name, tool] of Object.entries(own))
        tools[nameFor(name, connection.name, tools)] = throughConnection(tool, name, connection);
    const missing = found.filter((each) => !each.tools).map(({ connection: { name } }) => name);
    return { tools, missing };
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }
}

/** The name of the tool. If another server has the same, the name of the server stands before it. */
function nameFor(tool: string, server: string, taken: ToolSet): string {
  const plain = tool.replace(NOT_OF_NAME, '_').slice(0, NAME_LENGTH);
  if (!Object.hasOwn(taken, plain)) return plain;
  const longer = `${server}_${tool}`.replace(NOT_OF_NAME, '_').slice(0, NAME_LENGTH);
  for (let count = 2, name = longer; ; count++) {
    if (!Object.hasOwn(taken, name)) return name;
    name = `${longer.slice(0, NAME_LENGTH - 4)}_${count}`;
  }
}

/** The same tool, also after its server was started again. */
function throughConnection(tool: ToolSet[string], name: string, connection: McpConnection): ToolSet[string] {
  return {
    ...tool,
    execute: (args: unknown, options) => connection.call(name, args, options),
    toModelOutput: ({ output }: { output: unknown }) => modelOutput(output),
  } as ToolSet[string];
}

/** What the model reads of a result: endpoints of this kind take texts only. */
function modelOutput(output: unknown) {
  const { content, isError } = (output ?? {}) as { content?: unknown; isError?: unknown };
  const texts = Array.isArray(content) ? content.map(textOf) : [JSON.stringify(output) ?? 'null'];
  const text = texts.join('\n');
  return { type: isError === true ? ('error-text' as const) : ('text' as const), value: cutResult(text) };
}

/** The result of a tool, as long as a model reads it. */
export function cutResult(text: string): string {
  if (text.length <= RESULT_LENGTH) return text;
  return `${text.slice(0, RESULT_LENGTH)}… [The result has ${text.length} characters. The rest is left out.]`;
}

function textOf(part: unknown): string {
  const { type, text, data, mimeType } = (part ?? {}) as Record<string, unknown>;
  if (type === 'text' && typeof text === 'string') return text;
  if (typeof data === 'string') return `[${String(type)}, ${String(mimeType)}, not shown]`;
  return JSON.stringify(part);
}
