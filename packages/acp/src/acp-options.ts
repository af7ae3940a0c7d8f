import { isAbsolute } from 'node:path';
import type { Query, QueryContext } from 'nest-agent-query';
import { isInRange, type Range, rangeText, refuseUnknown } from 'nest-agent-query/agents';
import { stateDirectory } from 'nest-agent-query-adapters';

/** What a function of the host is told about a tool call that needs a permission. */
export interface AskedCall {
  /** The id of the call in the run, as its `tool_call` has it. */
  toolCallId: string;
  /** What the agent says about the call, such as the command. Absent if it says nothing. */
  title?: string;
  /** The kind of the tool, such as `edit`, `execute` or `fetch`. Absent if the agent says none. */
  kind?: string;
  /** The arguments of the call, as the agent has sent them. Absent if it has sent none. */
  arguments?: unknown;
  /** What may be chosen. */
  options: readonly { optionId: string; name: string; kind: string }[];
}

/** Decides about a call: see `AcpOptions.approve`. */
export type Approve = (
  call: AskedCall,
  context: QueryContext,
) => boolean | string | undefined | Promise<boolean | string | undefined>;

/** Which agent answers, and within which limits. */
export interface AcpOptions {
  /**
   * The agent. Without `args`, what `/bin/sh -c` executes, such as `opencode acp`; with `args`, the path or the name of a program.
   */
  command: string;
  /** The arguments of the program, which is then executed without a shell. Default: none, and a shell. */
  args?: readonly string[] | undefined;
  /**
   * Variables of the agent's environment. Besides these, it gets only `PATH`, `LANG`, `HOME`, `TMPDIR` and `XDG_*`: none of the
   * secrets of this process. Commands that the agent executes can read them. Default: none.
   */
  env?: Readonly<Record<string, string>> | undefined;
  /** Names the agent in each line of the log. Default: nothing. */
  name?: string | undefined;
  /**
   * The folder in which the agent works: an absolute path, or a function that returns one. It must exist. Default: a folder for
   * each session, and one for each run without a session, which is removed after the run.
   */
  cwd?: string | ((query: Query, context: QueryContext) => string | Promise<string>) | undefined;
  /**
   * `HOME` of the agent, where it keeps its sessions and rules. `owner`: a folder for each owner. A path: one that all owners
   * share, with each rule and memory in it. Default `owner`.
   */
  home?: 'owner' | (string & {}) | undefined;
  /** Where homes, folders of sessions and records are kept. Default: `nest-agent-query/acp` in `$XDG_STATE_HOME` or `~/.local/state`. */
  directory?: string | undefined;
  /**
   * The mode in which the agent asks before it changes something. It is set in each session; a run fails if the agent has modes, and
   * not this one. Default `default`.
   */
  mode?: string | undefined;
  /** Further options of the agent's sessions by their ids, such as `{ model: 'large' }`. A run fails if the agent refuses one. */
  configOptions?: Readonly<Record<string, string | boolean>> | undefined;
  /** The id of the method with which the agent signs in, if it says that it must. Default: the run fails then. */
  authMethod?: string | undefined;
  /** The MCP servers that the agent is given, as ACP describes them. Default: none. */
  mcpServers?: readonly object[] | undefined;
  /**
   * Decides about a call in the place of a person: true allows it once, false rejects it, the `optionId` of an option selects that
   * one, and undefined asks a person. Default: a person is asked.
   */
  approve?: Approve | undefined;
  /**
   * What happens after a person has rejected a call. `end`: the agent goes on or ends, as it does it by itself. `tell`: when its
   * turn has ended, it is told what was rejected and why, and goes on. Default `end`.
   */
  onReject?: 'end' | 'tell' | undefined;
  /**
   * What the agent is told after its process was lost in the middle of an answer. `null`: the run ends as `interrupted`. Default: a
   * sentence that asks it to go on.
   */
  resumeText?: string | null | undefined;
  /** Milliseconds for which a process stays for the next turn of its session, from 0 to 2,147,483,647; default 0. */
  keepMs?: number | undefined;
  /** Processes at the same time, from 1 to 1,000,000; default 4. Further runs wait. */
  processes?: number | undefined;
  /**
   * How the agent gets files that are no images. `text`: the text of a text file is in the prompt. `embedded`: as a resource, where
   * the agent takes them. `link`: as the path of a copy in the folder in which it works. Default `text`.
   */
  files?: 'text' | 'embedded' | 'link' | undefined;
  /**
   * Tells what is not a part of the answer, although the agent says it as one: a text for which this returns `log` becomes a `log`,
   * and one for which it returns `error` fails the run when the turn has ended. Default: a text is a remark if its `_meta` has a level.
   */
  remarks?: ((text: string, update: unknown) => 'log' | 'error' | undefined) | undefined;
  /** How often a run goes on after its process was lost or stopped, from 0 to 1,000; default 1, and 0 where `resumeText` is null. */
  restarts?: number | undefined;
  /**
   * The option `runs.stopDeadlineMs` of the module, in milliseconds; default 5,000. An agent that has not stopped by itself in the
   * first half of this time is killed.
   */
  stopDeadlineMs?: number | undefined;
  /** The most characters of a line of the agent, from 1,024 to 268,435,456; default 33,554,432. A diff of a file is one line. */
  lineLength?: number | undefined;
}

type Defaulted =
  | 'env'
  | 'home'
  | 'directory'
  | 'mode'
  | 'configOptions'
  | 'mcpServers'
  | 'onReject'
  | 'resumeText'
  | 'keepMs'
  | 'processes'
  | 'files'
  | 'restarts'
  | 'stopDeadlineMs'
  | 'lineLength';

/** The options with their defaults. */
export type AcpSettings = Omit<AcpOptions, Defaulted> & {
  [Member in Defaulted]-?: Exclude<AcpOptions[Member], undefined>;
};

const RESUME_TEXT =
  'Your process was lost while you answered the last question. Look at what was done already, and go on. What was not finished ' +
  'was not done.';

const NUMBERS = {
  keepMs: { range: [0, 2_147_483_647], value: 0 },
  processes: { range: [1, 1_000_000], value: 4 },
  restarts: { range: [0, 1_000], value: 1 },
  stopDeadlineMs: { range: [0, 2_147_483_647], value: 5_000 },
  lineLength: { range: [1_024, 268_435_456], value: 32 * 1024 * 1024 },
} satisfies Record<string, { range: Range; value: number }>;

const CHOICES = {
  files: ['text', 'embedded', 'link'],
  onReject: ['end', 'tell'],
};

const MEMBERS: Record<keyof AcpOptions, true> = {
  command: true,
  args: true,
  env: true,
  name: true,
  cwd: true,
  home: true,
  directory: true,
  mode: true,
  configOptions: true,
  authMethod: true,
  mcpServers: true,
  approve: true,
  onReject: true,
  resumeText: true,
  keepMs: true,
  processes: true,
  files: true,
  remarks: true,
  restarts: true,
  stopDeadlineMs: true,
  lineLength: true,
};

/**
 * The options with their defaults.
 *
 * @throws {TypeError} the command is empty, a path is not absolute, or an option is unknown or has no meaning · {RangeError} a number
 * is out of its range
 */
export function acpSettings(options: AcpOptions): AcpSettings {
  refuseUnknown('fromAcp', options, MEMBERS);
  refuseFaults(options);
  return {
    ...options,
    env: options.env ?? {},
    home: options.home ?? 'owner',
    directory: options.directory ?? stateDirectory('acp'),
    mode: options.mode ?? 'default',
    configOptions: options.configOptions ?? {},
    mcpServers: options.mcpServers ?? [],
    onReject: options.onReject ?? 'end',
    resumeText: options.resumeText === undefined ? RESUME_TEXT : options.resumeText,
    files: options.files ?? 'text',
    keepMs: numberOf('keepMs', options),
    processes: numberOf('processes', options),
    restarts: options.resumeText === null ? 0 : numberOf('restarts', options),
    stopDeadlineMs: numberOf('stopDeadlineMs', options),
    lineLength: numberOf('lineLength', options),
  };
}

function refuseFaults(options: AcpOptions): void {
  const { command, home, cwd, directory, resumeText, restarts } = options;
  if (typeof command !== 'string' || command.trim() === '')
    throw new TypeError('AcpOptions.command must be a text that is not empty.');
  for (const [name, choices] of Object.entries(CHOICES)) {
    const value = options[name as keyof typeof CHOICES];
    if (value !== undefined && !choices.includes(value))
      throw new TypeError(`AcpOptions.${name} must be one of ${choices.join(', ')}.`);
  }
  const paths = { directory, cwd, home: home === 'owner' ? undefined : home };
  for (const [name, path] of Object.entries(paths))
    if (typeof path === 'string' && !isAbsolute(path))
      throw new TypeError(`AcpOptions.${name} must be an absolute path, not ${JSON.stringify(path)}.`);
  if (resumeText === null && restarts)
    throw new TypeError(
      'AcpOptions.restarts has no meaning where resumeText is null. Leave one of them out.',
    );
}

function numberOf(name: keyof typeof NUMBERS, options: AcpOptions): number {
  const { range, value } = NUMBERS[name];
  const given = options[name] ?? value;
  if (!isInRange(given, range))
    throw new RangeError(`AcpOptions.${name} must be ${rangeText(range)}, not ${String(given)}.`);
  return given;
}
