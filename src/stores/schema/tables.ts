import type { Generated, Kysely } from 'kysely';

type Json = string;
/** 1 or 0. */
type Flag = number;
/** Milliseconds since the epoch. */
type Time = number;
/** Characters of JSON. */
type Length = number;
type Bytes = number;

/**
 * The tables. They are the same in SQLite and in Postgres: text, whole numbers and, for contents, bytes.
 *
 * Names that callers choose (owners, sessions, idempotency keys) are arbitrary strings of any length. They are stored as
 * JSON, which preserves a NUL and a lone surrogate, and are looked up by a digest (`keyOf`).
 */
export interface Tables {
  /** The processes that own runs. A run whose process has no row here is orphaned. */
  processes: {
    id: string;
    /** A counter that the process raises as long as it lives. */
    heartbeat: number;
    sweeping: Generated<Flag>;
  };
  /** Rows of the journal that an earlier version has left; see `moveAll`. */
  journal: {
    number: number;
    segments: string;
  };
  /** One row: the channel on which the processes of Postgres send signals. */
  signal_channel: { name: string };
  /** What is written, and deleted again, to find out whether a full disk has space again. */
  probes: { text: string };
  sessions: {
    key: string;
    owner: Json;
    /** See `ownerHashOf`. */
    owner_hash: number;
    id: Json;
    /** Null if no query has had a text. */
    title: Json | null;
    /** How many queue positions were given out. It is also the position of the newest run; the first run has 1. */
    queue_positions: number;
    /** The number of the newest turn. */
    turns: number;
    /** The length of all turns together. */
    length: Length;
    used_at: Time;
  };
  runs: {
    id: string;
    /** Null for a run that was erased and that the next sweep drops. */
    owner: Json | null;
    owner_hash: number | null;
    session_key: string | null;
    session: Json | null;
    /** The order of the runs of a session; null without a session. Positions are never reused. */
    queue_position: number | null;
    status: string;
    created_at: Time;
    started_at: Time | null;
    ended_at: Time | null;
    /** A `RunEnd`. */
    outcome: Json | null;
    /** The number of `done`; null until the run has ended. */
    last_seq: number | null;
    /** The length of the log that is kept; null until the run has ended. */
    log_length: Length | null;
    /** The parts of the query, with the long texts of a session cut; null when the run has ended. */
    parts: Json | null;
    /** The kwargs of the query; null when the run has ended. */
    kwargs: Json | null;
    idempotency_key: string | null;
    /** The digest of the query that the idempotency key stands for. */
    digest: Json | null;
    /** The module that executes the run; empty for the module without a name. */
    module: Generated<string>;
    /**
     * The process that owns the run; empty while the run waits. If the run asks, or has asked and waits now, this is the process
     * whose handler still waits for the answers; empty if there is none.
     */
    process: string;
    /** Which execution of the handler this is, or will be: the fence of the run. */
    attempt: Generated<number>;
    /** Whether the run continues when nobody follows it. */
    detached: Generated<Flag>;
    /**
     * Who the run belongs to, within its module: a digest. Null for a run that was started with its admission while there was
     * no limit per owner.
     */
    owner_key: string | null;
    /**
     * When the run became ready: the first of its session, and not deferred. Null before. A waiting run that is ready may be
     * started.
     */
    ready_at: Time | null;
    /** The round of slots in which a ready run is started: an owner has one run of each round. See `nextRound`. */
    round: Generated<number>;
    /**
     * When the run became the first of its session while its owner was at the limit. Null when it is ready. 1 for a run that has
     * asked: it comes before the others.
     */
    deferred_at: Time | null;
    /** Whether a process has asked the owner to cancel the run. 2 if it also gets no turn, because a newer run takes its place. */
    cancelled: Generated<number>;
    /** The state of the last checkpoint. */
    checkpoint: Json | null;
    /** The number of the newest envelope at the last checkpoint. */
    checkpoint_seq: number | null;
    /** How many attempts were lost with their process: those count for the restarts of the handler. */
    lost: Generated<number>;
    /** If the run asks: whether the handler can be called again. */
    survives: Generated<Flag>;
    /** The numbers of void envelopes: `[[first, last], …]`. */
    void: Json | null;
    /** The trace to which the run belongs; see `Admission.trace`. */
    trace: string | null;
    /** See `Admission.path`. */
    path: string | null;
    /** See `Admission.metadata`. */
    metadata: Json | null;
    /** The keys of its entries: an array. See `entryKey`. */
    metadata_entries: Json | null;
    /** What the run has used that is not in `usage` yet, an array of `RunUsage`. Null when it is, or if there is nothing. */
    usage: Json | null;
  };
  /** The entries of the metadata of runs, for lists. A trigger of `runs` adds them. */
  metadata: { entry: string; created_at: Time; run_id: string };
  /** What runs ask. Gone with the run. */
  requests: {
    /** The id of the run and the place of the request in it. */
    key: string;
    run_id: string;
    owner_hash: number;
    id: string;
    /** An `InputRequest`. */
    request: Json;
    asked_at: Time;
    expires_at: Time;
    /** Whether a newer query of the session does not take its place. */
    held: Flag;
    /** A `ResolvedInput`; null while the request is open. */
    resolved: Json | null;
    /** The number of the envelope that says how it was resolved. */
    seq: number | null;
  };
  /** Webhooks of runs. Gone with the run. */
  deliveries: {
    id: string;
    run_id: string;
    /** The key of the endpoint. */
    endpoint: string;
    event: string;
    /** The number of the envelope that is the event. */
    seq: number;
    /** The ids of the requests, where the run asks. */
    inputs: Json | null;
    created_at: Time;
    status: Generated<string>;
    tries: Generated<number>;
    tried_at: Time | null;
    /** Null unless it waits. */
    due_at: Time | null;
    error: string | null;
    /** The process that tries it; empty if none does. */
    process: Generated<string>;
  };
  /** The addresses of endpoints that want no webhooks. */
  disabled_endpoints: { address: string };
  /** How many runs of a module wait: the sum of its slots. Triggers of `runs` keep it. */
  waiting_counts: { module: string; slot: number; runs: number };
  /** Segments of event logs: consecutive envelopes that were committed together, up to about 64 KiB. */
  log: {
    run_id: string;
    /** The numbers of the first and the last envelope. */
    first: number;
    last: number;
    /** Where the segment begins and ends, counted from the beginning of the log. */
    start_offset: Length;
    end_offset: Length;
    /** JSON texts, one per line. */
    envelopes: string;
  };
  turns: {
    session_key: string;
    number: number;
    run_id: string;
    /** The length of the turn with its long texts. */
    length: Length;
    /** Of `turn`. */
    page_length: Length;
    /** A `Turn`, with the long texts cut. */
    turn: Json;
  };
  /** The texts that are cut in the turns, or in the queries of unfinished runs. */
  texts: { run_id: string; sha256: string; owner: Json; length: Length; text: Json };
  /** The sums of what owners have used. */
  usage: {
    owner: Json;
    owner_hash: number;
    /** Empty for runs without a session, and when the session is not kept any more; `*` for the sum of all of these. */
    session_key: string;
    session: Json | null;
    /** Days since 1970-01-01, in UTC. */
    day: number;
    /** A digest of the model; empty without one. */
    model_key: string;
    model: Json | null;
    /** How many runs have their first usage here. */
    runs: number;
    input_tokens: number;
    output_tokens: number;
    reasoning_tokens: number;
    cached_input_tokens: number;
    /** In millionths. */
    price: number;
  };
  /** The files of queries and answers, as long as the run or its turn is kept: also those whose content is not kept any more. */
  files: {
    /** For a file that was sent before its query: what `uploadOf` says. */
    run_id: string;
    sha256: string;
    owner: Json;
    /** See `ownerHashOf`. Null where a version before 0006 has recorded the file. */
    owner_hash: number | null;
    name: Json;
    mime_type: string;
    size: Bytes;
  };
  /**
   * Which run or turn needs which content. `pinned_at` says when the content was pinned for a run that is not admitted yet; it is
   * null once the run is admitted. For an upload it says when the content was sent.
   */
  file_uses: { run_id: string; sha256: string; pinned_at: Time | null };
  /** Bytes of files in transit that a process has reserved for an owner. Gone when the lease of the process ends. */
  uploads: { owner_key: string; process: string; bytes: Bytes };
  contents: {
    id: string;
    sha256: string;
    size: Bytes;
    created_at: Time;
    /** Null while the content is being written, and again while it is being removed. */
    completed_at: Time | null;
    /** The process that writes it. */
    process: string;
  };
  /** The bytes of contents, where the contents are kept in the database. */
  chunks: { content_id: string; number: number; bytes: Uint8Array };
}

/** The database, or one connection to it, or a transaction. */
export type Db = Kysely<Tables>;
