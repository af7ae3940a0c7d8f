/**
 * When a run begins or ends to wait: the name of a trigger, after what, the condition, the row that has the module, and how
 * many more wait then. Triggers count, so that no statement can forget to.
 */
const WAITS = [
  ['runs_inserted', 'insert', `new.status = 'waiting'`, 'new', 1],
  ['runs_wait', 'update of status', `new.status = 'waiting' and old.status <> 'waiting'`, 'new', 1],
  ['runs_waited', 'update of status', `old.status = 'waiting' and new.status <> 'waiting'`, 'old', -1],
  ['runs_deleted', 'delete', `old.status = 'waiting'`, 'old', -1],
] as const;

const COUNT_IN_SQLITE = WAITS.map(
  ([name, event, condition, row, more]) => `create trigger ${name} after ${event} on runs
     when ${condition} begin
       insert into waiting_counts values (${row}.module, 0, ${more})
         on conflict (module, slot) do update set runs = runs + excluded.runs;
     end`,
);

/**
 * Deferred: the row of a count is locked during the commit only, after all other locks of the transaction. By connection, so
 * that few commits wait for one another.
 */
const COUNT_IN_POSTGRES = [
  `create function count_waiting() returns trigger language plpgsql set search_path from current as $$ begin
     insert into waiting_counts values (coalesce(new.module, old.module), pg_backend_pid() % 16, tg_argv[0]::bigint)
       on conflict (module, slot) do update set runs = waiting_counts.runs + excluded.runs;
     return null;
   end $$`,
  ...WAITS.map(
    ([name, event, condition, , more]) => `create constraint trigger ${name} after ${event} on runs
     deferrable initially deferred for each row when (${condition}) execute function count_waiting('${more}')`,
  ),
];

/** The statements that create the tables and indexes: both databases understand all of them. `Tables` says what the columns are. */
const TABLES = [
  `create table processes (
     id text primary key, heartbeat bigint not null, sweeping bigint not null default 0
   )`,
  `create table probes (text text not null)`,

  `create table sessions (
     key text primary key, owner text not null, owner_hash bigint not null, id text not null, title text,
     queue_positions bigint not null, turns bigint not null, length bigint not null, used_at bigint not null
   )`,
  `create index sessions_listed on sessions (owner_hash, used_at)`,
  `create index sessions_used on sessions (used_at, length)`,

  `create table runs (
     id text primary key, owner text, owner_hash bigint, owner_key text, module text not null default '',
     session_key text, session text, queue_position bigint, status text not null, created_at bigint not null,
     ready_at bigint, deferred_at bigint, round bigint not null default 0, started_at bigint, ended_at bigint,
     outcome text, last_seq bigint, log_length bigint, parts text, kwargs text, idempotency_key text, digest text,
     process text not null, attempt bigint not null default 1, detached bigint not null default 0,
     cancelled bigint not null default 0, checkpoint text, checkpoint_seq bigint, void text, trace text, path text
   )`,
  `create unique index runs_idempotency on runs (idempotency_key)`,
  `create index runs_listed on runs (owner_hash, created_at)`,
  // A list of one status costs as much as its page, however many other runs there are.
  `create index runs_status on runs (owner_hash, status, created_at)`,
  // Most runs may have no session. Those of a session are listed in the order of their times.
  `create index runs_session on runs (session_key, created_at) where session_key is not null`,
  `create index runs_session_status on runs (session_key, status, created_at) where session_key is not null`,
  `create index runs_orphaned on runs (process, created_at) where ended_at is null`,
  `create index runs_ready on runs (module, round, ready_at, created_at)
     where status = 'waiting' and ready_at is not null`,
  // Not by module: Postgres would take it for as good as the one before, and read all runs that wait.
  `create index runs_waiting on runs (owner_key, deferred_at) where status = 'waiting'`,
  `create index runs_active on runs (owner_key, status, round)
     where owner_key is not null and ready_at is not null and ended_at is null`,
  `create index runs_restarting on runs (owner_key, round) where status = 'waiting' and attempt > 1`,
  // The sweep finds what is old, and adds up lengths, in pages of an index.
  `create index runs_ended on runs (ended_at, log_length)`,
  // Of two indexes that it takes for equally good, SQLite uses the newer one. For the queue of a session this must be the one.
  `create index runs_queue on runs (session_key, queue_position) where ended_at is null`,

  `create table waiting_counts (
     module text not null, slot bigint not null, runs bigint not null, primary key (module, slot)
   )`,

  `create table log (
     run_id text not null, first bigint not null, last bigint not null, start_offset bigint not null,
     end_offset bigint not null, envelopes text not null, primary key (run_id, last)
   )`,

  `create table turns (
     session_key text not null, number bigint not null, run_id text not null, length bigint not null,
     page_length bigint not null, turn text not null, primary key (session_key, number)
   )`,
  `create index turns_run on turns (run_id)`,

  `create table texts (
     run_id text not null, sha256 text not null, owner text not null, length bigint not null, text text not null,
     primary key (run_id, sha256)
   )`,

  `create table files (
     run_id text not null, sha256 text not null, owner text not null, name text not null, mime_type text not null,
     size bigint not null, primary key (run_id, sha256)
   )`,

  `create table file_uses (
     run_id text not null, sha256 text not null, pinned_at bigint, primary key (run_id, sha256)
   )`,
  `create index file_uses_content on file_uses (sha256)`,
  `create index file_uses_pinned on file_uses (pinned_at) where pinned_at is not null`,

  `create table uploads (
     owner_key text not null, process text not null references processes (id) on delete cascade,
     bytes bigint not null, primary key (owner_key, process)
   )`,
  `create index uploads_process on uploads (process)`,

  `create table contents (
     id text primary key, sha256 text not null, size bigint not null, created_at bigint not null,
     completed_at bigint, process text not null
   )`,
  `create unique index contents_digest on contents (sha256) where completed_at is not null`,
  `create index contents_completed on contents (completed_at, size)`,

  `create table chunks (
     content_id text not null, number bigint not null, bytes bytea not null, primary key (content_id, number)
   )`,
];

/** For runs that ask. A run that was started before comes first among those that wait: also one that has asked. */
const ASKING = [
  `alter table runs add column lost bigint not null default 0`,
  `alter table runs add column survives bigint not null default 0`,
  `update runs set lost = attempt - 1 where ended_at is null and attempt > 1`,
  `drop index runs_restarting`,
  `create index runs_restarting on runs (owner_key, round) where status = 'waiting' and started_at is not null`,
  `create table requests (
     key text primary key, run_id text not null, owner_hash bigint not null, id text not null, request text not null,
     asked_at bigint not null, expires_at bigint not null, held bigint not null, resolved text, seq bigint
   )`,
  `create index requests_run on requests (run_id)`,
  `create index requests_open on requests (owner_hash, asked_at) where resolved is null`,
  `create index requests_expiring on requests (expires_at) where resolved is null`,
];

/** For lists of runs by their metadata, which cost as much as their page. A trigger, so that a run is still one statement. */
const METADATA = [
  `alter table runs add column metadata text`,
  `alter table runs add column metadata_entries text`,
  `create table metadata (
     entry text not null, created_at bigint not null, run_id text not null, primary key (entry, created_at, run_id)
   )`,
  `create index metadata_run on metadata (run_id)`,
];

const LIST_IN_SQLITE = `create trigger runs_metadata after insert on runs when new.metadata_entries is not null begin
     insert into metadata select value, new.created_at, new.id from json_each(new.metadata_entries);
   end`;

const LIST_IN_POSTGRES = [
  `create function list_metadata() returns trigger language plpgsql set search_path from current as $$ begin
     insert into metadata
       select value, new.created_at, new.id from json_array_elements_text(new.metadata_entries::json);
     return null;
   end $$`,
  `create trigger runs_metadata after insert on runs for each row
     when (new.metadata_entries is not null) execute function list_metadata()`,
];

const USAGE_COLUMNS = `
  owner_hash bigint not null, owner text not null, session_key text not null, session text, day bigint not null,
  model_key text not null, model text, runs bigint not null, input_tokens bigint not null, output_tokens bigint not null,
  reasoning_tokens bigint not null, cached_input_tokens bigint not null, price bigint not null`;

/** @param ending of the tables: on SQLite, the rows are in their primary key, and are written once */
const usageTables = (ending = '') => [
  `create table new_usage (
     writer text not null, number bigint not null, n bigint not null, ${USAGE_COLUMNS},
     primary key (writer, number, n)
   )${ending}`,
  `create index new_usage_owner on new_usage (owner_hash, day)`,
  `create table usage (${USAGE_COLUMNS}, primary key (owner_hash, session_key, day, model_key, owner))${ending}`,
];

/** An index has the deliveries of an endpoint that wait, in the order in which they are due. */
const WEBHOOKS = [
  `create table deliveries (
     id text primary key, run_id text not null, endpoint text not null, event text not null, seq bigint not null,
     inputs text, created_at bigint not null, status text not null default 'waiting', tries bigint not null default 0,
     tried_at bigint, due_at bigint, error text, process text not null default ''
   )`,
  `create index deliveries_run on deliveries (run_id, endpoint, seq)`,
  `create index deliveries_due on deliveries (endpoint, due_at) where status = 'waiting'`,
  `create table disabled_endpoints (address text primary key)`,
];

/** For files that are sent before their query: which files an owner has. */
const UPLOADS = [
  `alter table files add column owner_hash bigint`,
  `create index files_owned on files (owner_hash, sha256)`,
];

const SUMS = ['runs', 'input_tokens', 'output_tokens', 'reasoning_tokens', 'cached_input_tokens', 'price'];

/** Adds what is not added up yet to the sums of sessions. */
const addNewUsage = (sessionKey: string, session: string, more = '') =>
  `insert into usage (owner_hash, owner, session_key, session, day, model_key, model, ${SUMS.join()})
     select owner_hash, owner, ${sessionKey}, ${session}, day, model_key, max(model), ${SUMS.map((sum) => `sum(${sum})`).join()}
     from new_usage group by owner_hash, owner, day, model_key${more}
     on conflict (owner_hash, session_key, day, model_key, owner)
     do update set ${SUMS.map((sum) => `${sum} = usage.${sum} + excluded.${sum}`).join()}`;

/** What a run has used is in the row of the run until it is added up. */
const USAGE_OF_RUNS = [
  addNewUsage(`'*'`, 'null'),
  addNewUsage('session_key', 'max(session)', ', session_key'),
  `drop table new_usage`,
  `alter table runs add column usage text`,
  `create index runs_using on runs (owner_hash) where usage is not null`,
];

const JOURNAL = [`create table journal (number integer primary key, segments text not null)`];

/** Most runs have no key, and a new run has not ended: two pages less to write for each query. */
const FEWER_ENTRIES = [
  `drop index runs_idempotency`,
  `create unique index runs_idempotency on runs (idempotency_key) where idempotency_key is not null`,
  `drop index runs_ended`,
  `create index runs_ended on runs (ended_at, log_length) where ended_at is not null`,
];

/** Who may not read this table does not know the channel on which the processes tell one another what is new. */
const SIGNALS = [
  `create table signal_channel (name text not null)`,
  `insert into signal_channel values ('agent_query_' || replace(gen_random_uuid()::text, '-', ''))`,
];

/** Runs that ended together are in few pages of this index, so that a commit writes few pages. */
const USAGE_BY_END = [
  `drop index runs_using`,
  `create index runs_using on runs (ended_at, owner_hash) where usage is not null`,
];

/** The runs of an owner that have ended, in the order of their ends. */
const ENDED_RUNS = [
  `create index runs_ended_status on runs (owner_hash, status, ended_at) where ended_at is not null`,
];

/** The migrations, in the order in which each is applied once. WARNING: never change one that was released; add a new one. */
export const MIGRATIONS: Record<string, Record<'sqlite' | 'postgres', readonly string[]>> = {
  '0001_tables': { sqlite: [...TABLES, ...COUNT_IN_SQLITE], postgres: [...TABLES, ...COUNT_IN_POSTGRES] },
  '0002_asking': { sqlite: ASKING, postgres: ASKING },
  '0003_metadata': {
    sqlite: [...METADATA, LIST_IN_SQLITE],
    postgres: [...METADATA, ...LIST_IN_POSTGRES],
  },
  '0004_usage': { sqlite: usageTables(' without rowid'), postgres: usageTables() },
  '0005_webhooks': { sqlite: WEBHOOKS, postgres: WEBHOOKS },
  '0006_uploads': { sqlite: UPLOADS, postgres: UPLOADS },
  '0007_usage_of_runs': { sqlite: USAGE_OF_RUNS, postgres: USAGE_OF_RUNS },
  '0008_journal': { sqlite: JOURNAL, postgres: [] },
  '0009_fewer_entries': { sqlite: FEWER_ENTRIES, postgres: FEWER_ENTRIES },
  '0010_signal_channel': { sqlite: [], postgres: SIGNALS },
  '0011_usage_by_end': { sqlite: USAGE_BY_END, postgres: [] },
  '0012_ended_runs': { sqlite: ENDED_RUNS, postgres: ENDED_RUNS },
};
