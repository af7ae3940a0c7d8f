import { distance } from 'fastest-levenshtein';
import { isVariable, ROWS } from './variables.js';

/** A shorter name has too many neighbours that other programs use: `HOST` and `HOME`, `PORT` and `PATH`. */
const LEAST_LENGTH = 6;

/** From this length on, two letters may differ. */
const LONG = 10;

/**
 * A sentence for each variable that is not ours but looks as if it were meant to be. It may belong to other software, so it does
 * not keep the service from starting.
 *
 * @param names the names of all variables of the process
 * @param prefixes how the names of the variables of agents begin
 */
export function resembling(names: string[], prefixes: string[]): string[] {
  const ours = ROWS.map(([name]) => name);
  return names
    .filter(
      (name) => !isVariable(name) && !prefixes.some((prefix) => prefix !== '' && name.startsWith(prefix)),
    )
    .flatMap((name) => {
      const meant = ours.find((known) => looksLike(name, known));
      return meant ? [`The variable ${name} has no effect on this service. Did you mean ${meant}?`] : [];
    });
}

function looksLike(name: string, known: string): boolean {
  const comparable = name.toUpperCase().replaceAll(/[-. ]/g, '_');
  if (comparable === known) return true;
  if (known.length < LEAST_LENGTH) return false;
  return distance(comparable, known) <= (known.length < LONG ? 1 : 2);
}
