import type { ControllerOptions } from '@nestjs/common';

/** An agent as a tool. */
export interface McpTool {
  /** The `name` of the `QueryModule` that answers. Default: the module without a name. */
  agent?: string | undefined;
  /** The name of the tool: 1 to 128 letters, digits, `_`, `-` and `.`. Default: the name of the agent, or `query`. */
  name?: string | undefined;
  /** How programs show the tool to people. Default: its name. */
  title?: string | undefined;
  /** By this a model decides when to call the tool. Default: a sentence that says how to ask the agent. */
  description?: string | undefined;
  /** Whether calls become tasks, where the client knows them. Default true. */
  tasks?: boolean | undefined;
}

/** Where a server is, and which agents it shows. */
export interface McpOptions {
  /** The path, without a global prefix of the host. Default `mcp`. */
  path?: string;
  /** As in the options of a controller. Default: those of the application. */
  version?: ControllerOptions['version'];
  /** As in the options of a controller. Default: every host. */
  host?: string | string[];
  /** Class decorators of the controller, such as `[UseGuards(MyGuard)]`. Default: none. */
  decorators?: ClassDecorator[];
  /** Default: the `QueryModule` without a name, as the tool `query`. */
  tools?: readonly McpTool[];
  /**
   * The host names that `Host` may have, without a port; `*` for any. Default: of a connection to a loopback address `localhost`,
   * `127.0.0.1` and `[::1]`, so that no page can reach a program of this machine by another name (DNS rebinding); of others any.
   */
  allowedHosts?: readonly string[] | '*';
  /** The origins whose pages may use the tools, such as `https://example.com`; `*` for any. Default: that of the server itself. */
  allowedOrigins?: readonly string[] | '*';
  /** How long a task is kept at least, as clients are told, in milliseconds: the `runMs` of the store. Default 3,600,000 (1 h). */
  ttlMs?: number;
}

export const MEMBERS: Record<keyof McpOptions, true> = {
  path: true,
  version: true,
  host: true,
  decorators: true,
  tools: true,
  allowedHosts: true,
  allowedOrigins: true,
  ttlMs: true,
};

export const TOOL_MEMBERS: Record<keyof McpTool, true> = {
  agent: true,
  name: true,
  title: true,
  description: true,
  tasks: true,
};

export const OPTIONS = Symbol('McpOptions');

/** The options with their defaults. */
export type McpSettings = McpOptions & Required<Pick<McpOptions, 'path' | 'tools' | 'ttlMs'>>;
