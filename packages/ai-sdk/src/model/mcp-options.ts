/** An MCP server that is a program: it is started when its tools are needed first. */
export interface McpProgramOptions {
  /** The program, without a shell. */
  command: string;
  args?: string[];
  /** Variables of its environment. Of those of the service it gets only `HOME`, `PATH` and the like. */
  env?: Record<string, string>;
  cwd?: string;
}

/** An MCP server that is reached over HTTP. */
export interface McpHttpOptions {
  /** `http` is Streamable HTTP, the default. `sse` is what older servers have. */
  type?: 'http' | 'sse' | 'streamable-http';
  url: string;
  /** Headers of each request, such as a credential. */
  headers?: Record<string, string>;
}

/** An MCP server, as the usual `mcp.json` describes it. */
export type McpServerOptions = McpProgramOptions | McpHttpOptions;

/**
 * The servers of a text in the usual form: `{ "mcpServers": { "name": { "command": …, "args": […] } } }`.
 *
 * @throws {TypeError} what is wrong with it, without a value, which may be a secret
 *
 * @example
 * modelHandler({ baseUrl, model, mcpServers: mcpServersOf(await readFile('mcp.json', 'utf8')) });
 */
export function mcpServersOf(text: string): Record<string, McpServerOptions> {
  const { mcpServers } = parsed(text) as { mcpServers?: unknown };
  if (!isRecord(mcpServers)) throw new TypeError('It must have an object "mcpServers".');
  checkMcpServers(mcpServers as Record<string, McpServerOptions>);
  return mcpServers as Record<string, McpServerOptions>;
}

/** @throws {TypeError} a server is not valid */
export function checkMcpServers(servers: Record<string, McpServerOptions>): void {
  for (const [name, server] of Object.entries(servers)) {
    const fault = faultOf(server);
    if (fault !== undefined) throw new TypeError(`The MCP server ${JSON.stringify(name)} ${fault}.`);
  }
}

/** Whether a server is a program. */
export function isProgram(server: McpServerOptions): server is McpProgramOptions {
  return 'command' in server;
}

function faultOf(server: unknown): string | undefined {
  if (!isRecord(server)) return 'must be an object';
  const { command, args, env, cwd, type, url, headers } = server;
  if ((command === undefined) === (url === undefined)) return 'must have either "command" or "url"';
  if (command !== undefined) {
    if (typeof command !== 'string' || command === '') return 'must have a text as its "command"';
    if (args !== undefined && !(Array.isArray(args) && args.every(isText)))
      return 'must have texts as "args"';
    if (env !== undefined && !isRecordOfTexts(env)) return 'must have texts in "env"';
    return cwd === undefined || isText(cwd) ? undefined : 'must have a text as its "cwd"';
  }
  if (!isText(url) || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    return 'must have a "url" that begins with https: or http:';
  if (type !== undefined && !['http', 'sse', 'streamable-http'].includes(type as string))
    return 'must have the "type" http or sse';
  return headers === undefined || isRecordOfTexts(headers) ? undefined : 'must have texts in "headers"';
}

function parsed(text: string): object {
  try {
    const value = JSON.parse(text) as unknown;
    if (isRecord(value)) return value;
  } catch {
    // The error of the parser shows a part of the text, which may be a secret.
  }
  throw new TypeError('It must be a JSON object.');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isRecordOfTexts(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every(isText);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
