import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { Tool } from '@modelcontextprotocol/server';
import { QueryError, type RunView } from 'nest-agent-query';
import { type Endpoint, Endpoints, type HostRequest } from 'nest-agent-query/protocol';
import { INPUT_SCHEMA } from './arguments.js';
import { type McpSettings, type McpTool, OPTIONS, TOOL_MEMBERS } from './mcp-options.js';
import { refuseUnknown } from 'nest-agent-query/agents';

/** A tool, with the agent that answers its calls. */
export interface AgentTool {
  name: string;
  /** As `tools/list` shows it. */
  shown: Tool;
  hasTasks: boolean;
  endpoint: Endpoint;
}

/** A run of a caller, where it was found. */
export interface FoundRun {
  run: RunView;
  owner: string;
  endpoint: Endpoint;
}

/** @throws {TypeError} a tool has a name that clients refuse, or that another tool has */
export function checkTools(tools: readonly McpTool[]): void {
  for (const tool of tools) refuseUnknown('McpModule: a tool', tool, TOOL_MEMBERS);
  const names = tools.map(nameOf);
  const wrong = names.find((name) => !/^[\w.-]{1,128}$/.test(name));
  if (wrong !== undefined)
    throw new TypeError(
      `McpModule: the name of a tool must have 1 to 128 letters, digits, "_", "-" and ".", but one is ${JSON.stringify(wrong)}.`,
    );
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new TypeError(
      `McpModule: two tools have the name ${JSON.stringify(twice)}. Give one another "name".`,
    );
  if (names.length === 0) throw new TypeError('McpModule: the option "tools" must have a tool.');
}

/** The agents of a server. */
@Injectable()
export class AgentTools implements OnModuleInit {
  all: AgentTool[] = [];

  constructor(
    @Inject(OPTIONS) private readonly settings: McpSettings,
    private readonly endpoints: Endpoints,
  ) {}

  /** A `QueryModule` may be initialized after this module: its handler may have asynchronous providers. */
  onModuleInit(): void {
    this.all = this.settings.tools.map((tool) => ({
      name: nameOf(tool),
      shown: shownOf(tool),
      hasTasks: tool.tasks ?? true,
      endpoint: this.endpoints.of(tool.agent),
    }));
  }

  named(name: unknown): AgentTool | undefined {
    return this.all.find((tool) => tool.name === name);
  }

  /** The tool by whose limits a body is read: the one that a header names, or the first. */
  reading(name: string | undefined): AgentTool {
    return this.named(name) ?? this.all[0]!;
  }

  /**
   * Finds a run of the caller, whichever agent has it.
   *
   * @throws {QueryError} `not_found` · `unavailable`
   */
  async find(request: HostRequest, runId: string): Promise<FoundRun> {
    let missing: unknown;
    for (const endpoint of new Set(this.all.map((tool) => tool.endpoint)))
      try {
        const owner = await endpoint.owner(request);
        return { run: await endpoint.agent.find(owner, runId), owner, endpoint };
      } catch (error) {
        if (!(error instanceof QueryError) || error.code !== 'not_found') throw error;
        missing = error;
      }
    throw missing;
  }
}

function nameOf({ agent, name = agent ?? 'query' }: McpTool): string {
  return name;
}

function shownOf(tool: McpTool): Tool {
  const { agent, title } = tool;
  const who = agent === undefined ? 'the agent' : `the agent "${agent}"`;
  const { description = `Sends a text, and files, to ${who}, and returns its answer.` } = tool;
  return {
    name: nameOf(tool),
    ...(title !== undefined && { title }),
    description,
    inputSchema: INPUT_SCHEMA,
  };
}
