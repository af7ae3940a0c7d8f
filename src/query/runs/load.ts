/** The present load of a process. */
export interface Load {
  /** Runs whose handler was called. */
  running: number;
  /** Runs in the queue of their session, or without a slot. */
  waiting: number;
  /** Runs that ask, and whose handler waits for the answers in this process. */
  asking: number;
  /** Followers of all runs. */
  followers: number;
  /** Handlers that have missed their stop deadline and still execute. */
  overdue: number;
}

/** What a process has done since its start. These numbers only grow. */
export interface Totals {
  /** Envelopes that handlers have emitted, also of runs that have not ended. */
  envelopes: number;
  /** The characters of JSON of these envelopes. */
  length: number;
  /** Files that callers have sent, with queries or before them, also those of queries that were refused afterwards. */
  files: number;
  /** The bytes of these files, decoded. */
  fileBytes: number;
}

/** What the spool of a process has at present. */
export interface SpoolUse {
  /** How many temporary files of queries there are. */
  files: number;
  /** The bytes of these files. */
  bytes: number;
}
