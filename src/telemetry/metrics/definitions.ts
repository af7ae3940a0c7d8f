/** A metric of query modules. */
export interface Definition {
  name: string;
  help: string;
  /**
   * The labels that it has besides `module`. Their values are of closed lists: no caller or handler chooses one, except for the
   * first models that a handler names.
   */
  labels?: readonly ('status' | 'code' | 'operation' | 'kind' | 'outcome' | 'endpoint' | 'model')[];
}

interface HistogramDefinition extends Definition {
  /** The upper bounds of the buckets. */
  buckets: number[];
}

const RUN_SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 900];
const WAIT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** From seconds to the 30 days after which every request has expired. */
const ANSWER_SECONDS = [
  1, 5, 15, 60, 300, 900, 3_600, 14_400, 43_200, 86_400, 259_200, 604_800, 1_209_600, 2_592_000,
];
const STORE_SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
];

export const COUNTERS = {
  admitted: { name: 'agent_query_runs_admitted_total', help: 'Queries that became a run.' },
  repeated: {
    name: 'agent_query_queries_repeated_total',
    help: 'Queries whose idempotency key has found the run of an earlier query.',
  },
  refused: {
    name: 'agent_query_refusals_total',
    help: 'Requests answered with a problem, and queries of the host that were not admitted, by code.',
    labels: ['code'],
  },
  ended: {
    name: 'agent_query_runs_ended_total',
    help: 'Runs that have ended, by status.',
    labels: ['status'],
  },
  failed: {
    name: 'agent_query_run_failures_total',
    help: 'Runs that have ended as failed, by code.',
    labels: ['code'],
  },
  asked: {
    name: 'agent_query_inputs_asked_total',
    help: 'Requests of runs that ask, by kind.',
    labels: ['kind'],
  },
  resolved: {
    name: 'agent_query_inputs_resolved_total',
    help: 'Requests of runs that were resolved, by kind and outcome.',
    labels: ['kind', 'outcome'],
  },
  webhooks: {
    name: 'agent_query_webhook_tries_total',
    help: 'Tries to deliver a webhook, by endpoint and what has become of it: waiting if it is tried again.',
    labels: ['endpoint', 'status'],
  },
  tokens: {
    name: 'agent_query_tokens_total',
    help: 'Tokens that models have used, as usage envelopes tell, by model and kind.',
    labels: ['model', 'kind'],
  },
  envelopes: {
    name: 'agent_query_envelopes_emitted_total',
    help: 'Envelopes that handlers have emitted.',
  },
  characters: {
    name: 'agent_query_characters_emitted_total',
    help: 'Characters of JSON of the envelopes that handlers have emitted.',
  },
  files: {
    name: 'agent_query_files_received_total',
    help: 'Files that queries of callers have brought.',
  },
  fileBytes: {
    name: 'agent_query_files_received_bytes_total',
    help: 'Decoded bytes of the files that queries of callers have brought.',
  },
} satisfies Record<string, Definition>;

export const GAUGES = {
  running: { name: 'agent_query_runs_running', help: 'Runs whose handler executes in this process.' },
  waiting: {
    name: 'agent_query_runs_waiting',
    help: 'Runs of this process in the queue of their session, or without a slot.',
  },
  asking: {
    name: 'agent_query_runs_asking',
    help: 'Runs that ask, and whose handler waits for the answers in this process.',
  },
  overdue: {
    name: 'agent_query_handlers_overdue',
    help: 'Handlers that have missed their stop deadline and still execute.',
  },
  slots: { name: 'agent_query_slots', help: 'Runs that may execute in this process at once.' },
  followers: { name: 'agent_query_followers', help: 'Followers of runs in this process.' },
  logLength: {
    name: 'agent_query_log_characters',
    help: 'Characters of JSON of all logs that the store keeps.',
  },
  openInputs: {
    name: 'agent_query_inputs_open',
    help: 'Requests of all runs of the store that wait for an answer.',
  },
  signalsLate: {
    name: 'agent_query_signals_late',
    help: '1 while signals of other processes do not arrive at this one, otherwise 0.',
  },
  spoolFiles: { name: 'agent_query_spool_files', help: 'Temporary files of queries on disk.' },
  spoolBytes: { name: 'agent_query_spool_bytes', help: 'Bytes of the temporary files of queries on disk.' },
} satisfies Record<string, Definition>;

export const HISTOGRAMS = {
  duration: {
    name: 'agent_query_run_duration_seconds',
    help: 'Time from the call of the handler to the end of the run, by status.',
    labels: ['status'],
    buckets: RUN_SECONDS,
  },
  wait: {
    name: 'agent_query_run_wait_seconds',
    help: 'Time from the admission of a run to the call of its handler.',
    buckets: WAIT_SECONDS,
  },
  firstEvent: {
    name: 'agent_query_first_event_seconds',
    help: 'Time from the admission of a run to the first envelope of its handler. Observed when the run ends.',
    buckets: WAIT_SECONDS,
  },
  answer: {
    name: 'agent_query_input_wait_seconds',
    help: 'Time from the question to the answer of a caller, by kind.',
    labels: ['kind'],
    buckets: ANSWER_SECONDS,
  },
  store: {
    name: 'agent_query_store_duration_seconds',
    help: 'Time that the store took to answer, by operation.',
    labels: ['operation'],
    buckets: STORE_SECONDS,
  },
} satisfies Record<string, HistogramDefinition>;

/** Definitions by their names in the code, as they are read in a loop. */
export type Definitions = Record<string, Definition>;
export type HistogramDefinitions = Record<string, HistogramDefinition>;
