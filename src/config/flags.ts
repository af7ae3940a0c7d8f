import { ROWS, type VariableName } from './variables.js';

/** A flag of the command line that sets a variable of the service. */
export interface Flag {
  /** The variable that it sets. */
  variable: VariableName;
  /** With its dashes, such as `--port`. */
  name: string;
  /** What follows the flag, such as `number`; empty if nothing does, and the flag sets the variable to `true`. */
  argument: string;
  /** What the variable means, as the rest of a line, with its default. */
  summary: string;
  /** The heading under which the help shows it. */
  group: string;
}

/** The flags of the service, in the order of its help. Secrets have none: the list of processes of a machine shows flags to everybody. */
export const FLAGS: readonly Flag[] = ROWS.flatMap(([variable, { flag, argument, means, group, value }]) => {
  if (argument === undefined) return [];
  const plain = means.replaceAll('`', '').replace(/\[(.+?)\]\(.+?\)/g, '$1');
  const isShown = argument !== '' && ![undefined, '', Infinity].includes(value as string);
  return {
    variable,
    name: flag ?? `--${variable.toLowerCase().replaceAll('_', '-')}`,
    argument,
    summary: isShown ? `${plain} (${String(value)})` : plain,
    group,
  };
});
