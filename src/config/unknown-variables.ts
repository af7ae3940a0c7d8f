import { distance } from 'fastest-levenshtein';

/** A shorter name has too many neighbours that other programs use: `HOST` and `HOME`, `PORT` and `PATH`. */
const LEAST_LENGTH = 6;

/** From this length on, two letters may differ. */
const LONG = 10;

/**
 * A sentence for each variable that is not ours but looks as if it were meant to be: a setting that has no effect is worse than
 * a service that does not start.
 *
 * @param names the names of all variables of the process
 * @param known the names of ours
 */
export function misspelled(names: string[], known: string[]): string[] {
  return names
    .filter((name) => !known.includes(name))
    .flatMap((name) => {
      const meant = known.find((ours) => looksLike(name, ours));
      return meant ? [`${name} is not a variable of this service. Rename it to ${meant}, or unset it.`] : [];
    });
}

function looksLike(name: string, known: string): boolean {
  const comparable = name.toUpperCase().replaceAll(/[-. ]/g, '_');
  if (comparable === known) return true;
  if (known.length < LEAST_LENGTH) return false;
  return distance(comparable, known) <= (known.length < LONG ? 1 : 2);
}
