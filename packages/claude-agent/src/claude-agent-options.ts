import { isAbsolute } from 'node:path';
import type { Query, QueryContext } from 'nest-agent-query';
import {
  type AdapterOptions,
  adapterSettings,
  type AdapterSettings,
  stateDirectory,
} from 'nest-agent-query-adapters';
import type { ClaudeQuery, ClaudeQueryOptions } from './sdk.js';

/** A call of a tool that Claude wants to make. */
export interface ClaudeCall {
  name: string;
  arguments: unknown;
}

/** Tools that change nothing, and send nothing to anybody: Claude Code's own rules decide about them. */
const READERS = new Set([
  'Glob',
  'Grep',
  'ListAgents',
  'ListMcpResourcesTool',
  'LSP',
  'Read',
  'ReadMcpResourceTool',
  'Agent',
  'Skill',
  'Task',
  'TaskCreate',
  'TaskGet',
  'TaskList',
  'TaskStop',
  'TaskUpdate',
  'TodoWrite',
  'ToolSearch',
]);

/**
 * How Claude answers queries.
 *
 * @typeParam K the class that the option `kwargs` of the module names. Default: an object with any keys
 */
export interface ClaudeAgentOptions<K extends object = Record<string, unknown>> extends AdapterOptions {
  /**
   * Options of `query()` of the SDK, such as `model`, `systemPrompt`, `mcpServers` or `maxTurns`. The handler itself sets
   * `cwd`, `env`, `resume`, `sessionId`, `canUseTool`, `includePartialMessages` and `spawnClaudeCodeProcess`, and adds a hook.
   * Default: none. `settingSources` is `[]` unless it is given.
   */
  options?: ClaudeQueryOptions | ((query: Query<K>, context: QueryContext) => ClaudeQueryOptions);
  /**
   * Which calls a person must allow: names of tools, or a function. What needs no person is allowed, but for tools that only read:
   * Claude Code's own rules decide about these. Default: all tools but those that only read.
   */
  ask?: readonly string[] | ((call: ClaudeCall, context: QueryContext) => boolean | Promise<boolean>);
  /**
   * Variables of the program, for example `ANTHROPIC_API_KEY`. Of the service it gets only `PATH`, `LANG` and `TMPDIR` besides.
   * `HOME` and `CLAUDE_CONFIG_DIR` are set always. Default: none.
   */
  env?: Record<string, string>;
  /**
   * An absolute path: where the homes, the conversations and the working directories are. Default: `nest-agent-query/claude-agent`
   * in `$XDG_STATE_HOME` or `~/.local/state`.
   */
  directory?: string;
  /** The working directory of a run, an absolute path of one that exists. Default: a directory of the session, which is removed with it. */
  cwd?: (query: Query<K>, context: QueryContext) => string;
  /** `query` of the SDK. Default: that of the installed package. */
  query?: ClaudeQuery;
}

/** The options with their defaults. */
export type ClaudeAgentSettings<K extends object> = ClaudeAgentOptions<K> &
  AdapterSettings & { directory: string; env: Record<string, string> };

/** @throws {TypeError} an option is not valid · {RangeError} a number is out of its range */
export function claudeAgentSettings<K extends object>(
  options: ClaudeAgentOptions<K>,
): ClaudeAgentSettings<K> {
  const settings = adapterSettings<ClaudeAgentOptions<K>>(
    options,
    { inputs: ['image', 'pdf'] },
    { options: true, ask: true, env: true, directory: true, cwd: true, query: true },
  );
  const { env = {}, directory = stateDirectory('claude-agent') } = options;
  if (!isAbsolute(directory)) throw new TypeError('The option "directory" must be an absolute path.');
  for (const [name, value] of Object.entries(env))
    if (typeof value !== 'string') throw new TypeError(`The variable "${name}" of "env" must be a string.`);
  return { ...settings, env, directory };
}

/** What becomes of a call before anybody is asked: `rules` are those of Claude Code. */
export async function howToDecide<K extends object>(
  { ask }: ClaudeAgentSettings<K>,
  call: ClaudeCall,
  context: QueryContext,
): Promise<'ask' | 'allow' | 'rules'> {
  const isReader = READERS.has(call.name);
  if (typeof ask === 'function') {
    if (await ask(call, context)) return 'ask';
  } else if (ask ? ask.includes(call.name) : !isReader) return 'ask';
  return isReader ? 'rules' : 'allow';
}
