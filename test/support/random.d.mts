/** See `random.mjs`. */
export declare function randomFrom(seed: number): {
  next(): number;
  below(end: number): number;
  pick<T>(list: readonly T[]): T;
  chance(share: number): boolean;
};
