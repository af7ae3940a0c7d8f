import { parseArgs } from 'node:util';
import { type Agent, AGENTS } from './create-application.js';
import { Refusal } from './refusal.js';

/** What the command prints with `--help`. */
export const USAGE = `Usage: npm create nest-agent-query [folder] [-- --agent model|acp] [--name <name>] [--packed <folder>]

Writes a NestJS application with an agent behind POST /query.

  folder             where it is written; it must be empty. Default: the current folder
  --agent <agent>    who answers: "model" (the default), or "acp", a coding agent such as OpenCode or Codex
  --name <name>      the name in its package.json. Default: the name of the folder
  --packed <folder>  installs the packages that "npm run pack:all -- <folder>" has put there, not published ones
  --help             shows this
`;

/** What the command was told. */
export interface CommandLine {
  /** As it was typed. */
  folder: string;
  /** Undefined: that of the folder. */
  name: string | undefined;
  /** A folder of packed packages, as it was typed. Undefined: the published ones. */
  packed: string | undefined;
  /** Who answers. */
  agent: Agent;
  isHelp: boolean;
}

/**
 * Reads the arguments of the command.
 *
 * @throws {Refusal} an option is unknown or has no value, there is no such agent, or there are several folders
 */
export function readCommandLine(parameters: string[]): CommandLine {
  const { values, positionals } = parsed(parameters);
  const [folder = '.', ...others] = positionals;
  if (others.length > 0)
    throw new Refusal(`Name one folder, not ${positionals.length}: ${positionals.join(', ')}.`, true);
  if (folder === '') throw new Refusal('The folder has no name. Leave it out for the current folder.', true);
  const { name, packed, help = false } = values;
  return { folder, name, packed, agent: agentOf(values.agent), isHelp: help };
}

function agentOf(given = 'model'): Agent {
  const agent = AGENTS.find((each) => each === given);
  if (agent) return agent;
  throw new Refusal(`There is no agent ${JSON.stringify(given)}. Choose ${AGENTS.join(' or ')}.`, true);
}

function parsed(args: string[]) {
  const options = {
    agent: { type: 'string' },
    name: { type: 'string' },
    packed: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    // The first sentence of Node says what is wrong; the others are about the form of arguments in general.
    const [sentence] = (error as Error).message.split(/(?<=\w'?)\. /);
    throw new Refusal(`${sentence!.replace(/\.$/, '')}. See --help.`, true);
  }
}
