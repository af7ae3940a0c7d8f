/** What the exit code of a report means. */
export const EXIT = {
  ok: 0,
  /** A check has found a problem. */
  problem: 1,
  /** The service or a proxy refused access. */
  refused: 3,
  noConnection: 4,
} as const;
