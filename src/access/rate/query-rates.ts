/** The length of the window in which queries are counted, in seconds. */
export const WINDOW_SECONDS = 60;

/** What an owner may still do in its window. */
export interface Rate {
  isExceeded: boolean;
  /** How many more queries the owner may begin. */
  remaining: number;
  /** When the window ends, in seconds from now, from 1. */
  resetSeconds: number;
}

/** Counts the queries of owners. */
export abstract class QueryRates {
  /** Counts one query. */
  abstract count(owner: string): Promise<Rate>;

  abstract close(): Promise<void>;
}
