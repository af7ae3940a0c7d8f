import type { Kysely } from 'kysely';

/**
 * The tables. They are the same in SQLite and in Postgres: text, whole numbers and, for contents, bytes.
 *
 * Names that callers choose (owners, sessions, idempotency keys) are any strings at all, of any length. They are kept as
 * JSON, in which neither a NUL nor a lone surrogate is lost, and looked up by a digest (`keyOf`).
 */
export interface Tables {
  /** Processes that execute runs. The runs of one that is not here have lost it. */
  processes: { id: string; beat: number };
  sessions: {
    key: string;
    /** How many runs the session has had; the next one's place in line follows. */
    places: number;
    /** The number of its newest turn. */
    turns: number;
    /** Of its turns together, in characters. */
    length: number;
    used_at: number;
  };
  runs: {
    id: string;
    /** JSON; null where the run is to be swept. */
    owner: string | null;
    session_key: string | null;
    /** JSON. */
    session: string | null;
    place: number | null;
    status: string;
    created_at: number;
    started_at: number | null;
    ended_at: number | null;
    /** `RunEnd` as JSON. */
    outcome: string | null;
    /** Of an ended run: the number of `done`. */
    last_seq: number | null;
    /** Of an ended run: how much its log holds, in characters. */
    log_length: number | null;
    /** Of an unfinished run: the query, as JSON. */
    query: string | null;
    idempotency_key: string | null;
    digest: string | null;
    /** Which process executes it. */
    process: string;
  };
  /** Stretches of event logs: what of a run was committed at once, up to some 64 KiB. */
  log: {
    run_id: string;
    first: number;
    last: number;
    /** Where the stretch begins and ends, in characters since the beginning of the log. */
    start: number;
    position: number;
    /** JSON texts, a line each. */
    envelopes: string;
  };
  turns: {
    session_key: string;
    number: number;
    run_id: string;
    /** In characters. */
    length: number;
    /** `Turn` as JSON. */
    turn: string;
  };
  /** Which run or turn needs which content. */
  file_uses: {
    run_id: string;
    sha256: string;
    /** When a run that is not admitted yet took hold of it; null since it is. */
    pinned_at: number | null;
  };
  contents: {
    id: string;
    sha256: string;
    /** Bytes. */
    size: number;
    created_at: number;
    /** Null while it is being written, and again when it is to be removed. */
    completed_at: number | null;
    /** The process that writes it. */
    process: string;
  };
  /** The bytes of contents, where they are kept in the database. */
  chunks: { content_id: string; number: number; bytes: Uint8Array };
}

/** A connection, a transaction, or any connection. */
export type Db = Kysely<Tables>;
