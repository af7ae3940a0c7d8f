/**
 * A pause for this process: between half and all of it, so that processes that have failed together do not try again together.
 *
 * @example
 * await delay(jittered(1_000));
 */
export function jittered(milliseconds: number): number {
  return milliseconds * (0.5 + Math.random() / 2);
}
