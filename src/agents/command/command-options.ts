import { tmpdir } from 'node:os';
import { OPTIONS, refuseUnknown, RUN_DEFAULTS, withDefaults } from '../../query/index.js';

/** What program answers, and within which limits. */
export interface CommandOptions {
  /** What `/bin/sh -c` executes for each query, such as `python3 agent.py`. */
  command: string;
  /** Names the program in each line of the log. Default: nothing. */
  name?: string | undefined;
  /** The directory in which it is executed. Default: that of this process. */
  cwd?: string | undefined;
  /** The variables of its environment. Default: those of this process, with all secrets that are among them. */
  env?: Record<string, string | undefined> | undefined;
  /** Programs that execute at the same time, from 1 to 1,000,000; default 16. Further runs wait. */
  processes?: number | undefined;
  /**
   * The option `runs.stopDeadlineMs` of the module, in milliseconds; default 5,000. A program that has not stopped by itself in
   * the first half of this time is killed.
   */
  stopDeadlineMs?: number | undefined;
  /** The most characters of a line that is an envelope, from 1 to 268,435,456; default 4,194,304. */
  lineLength?: number | undefined;
  /**
   * Whether the standard input stays open after the query, so that the program can ask and read the answer there. A program that
   * reads its input to the end then never starts. Default false.
   */
  keepInput?: boolean | undefined;
  /** Where the files of queries are copied to. Default: the system's directory for temporary files. */
  directory?: string | undefined;
}

/** The options with their defaults. */
export interface CommandSettings extends Pick<CommandOptions, 'command' | 'name' | 'cwd' | 'env'> {
  processes: number;
  stopDeadlineMs: number;
  lineLength: number;
  keepInput: boolean;
  directory: string;
}

const DEFAULTS: CommandSettings = {
  command: '',
  name: undefined,
  cwd: undefined,
  env: undefined,
  processes: OPTIONS.command.processes.value,
  stopDeadlineMs: RUN_DEFAULTS.stopDeadlineMs,
  lineLength: RUN_DEFAULTS.envelopeLength,
  keepInput: false,
  directory: tmpdir(),
};

const NUMBERS = {
  processes: OPTIONS.command.processes,
  stopDeadlineMs: OPTIONS.runs.stopDeadlineMs,
  lineLength: OPTIONS.runs.envelopeLength,
};

/** @throws {TypeError} the command is empty, or an option is unknown · {RangeError} a number is out of its range */
export function commandSettings(options: CommandOptions): CommandSettings {
  if (typeof options.command !== 'string' || options.command.trim() === '')
    throw new TypeError('CommandOptions.command must be a text that is not empty.');
  refuseUnknown('commandHandler', options, DEFAULTS);
  const faults: string[] = [];
  const settings = withDefaults<CommandSettings>('CommandOptions', options, DEFAULTS, NUMBERS, faults);
  if (faults.length > 0) throw new RangeError(faults.join('\n'));
  return settings;
}
