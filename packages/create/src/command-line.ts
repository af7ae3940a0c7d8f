import { parseArgs } from 'node:util';
import { Refusal } from './refusal.js';

/** What the command prints with `--help`. */
export const USAGE = `Usage: npm create nest-agent-query [folder] [-- --name <name>] [--packed <folder>]

Writes a NestJS application with an agent behind POST /query.

  folder             where it is written; it must be empty. Default: the current folder
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
  isHelp: boolean;
}

/**
 * Reads the arguments of the command.
 *
 * @throws {Refusal} an option is unknown or has no value, or there are several folders
 */
export function readCommandLine(parameters: string[]): CommandLine {
  const { values, positionals } = parsed(parameters);
  const [folder = '.', ...others] = positionals;
  if (others.length > 0)
    throw new Refusal(`Name one folder, not ${positionals.length}: ${positionals.join(', ')}.`, true);
  if (folder === '') throw new Refusal('The folder has no name. Leave it out for the current folder.', true);
  return { folder, name: values.name, packed: values.packed, isHelp: values.help ?? false };
}

function parsed(args: string[]) {
  const options = {
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
