/** What the exit codes of the commands mean. `docs/cli.md` has them for users. */
export const EXIT = {
  ok: 0,
  /** The run failed or was cancelled by another. */
  failed: 1,
  /** The command line is wrong, or names a file that cannot be read. */
  usage: 2,
  /** The service refused the request. */
  refused: 3,
  /** Nobody answers at the URL, or no service of this kind. */
  noConnection: 4,
  /** The run asks, and nobody has answered. It stays. */
  asks: 5,
  interrupted: 130,
  terminated: 143,
} as const;
