import type { Environment } from './environment.js';

/** A flag of the command line that sets a variable of the service. */
export interface Flag {
  /** The variable that it sets. */
  variable: keyof Environment;
  /** With its dashes, such as `--port`. */
  name: string;
  /** What follows the flag, such as `number`; undefined if nothing does, and the flag sets the variable to `true`. */
  argument: string | undefined;
  /** What the variable means, as the rest of a line. */
  summary: string;
  /** The heading under which the help shows it. */
  group: string;
}

/** Secrets are variables only: the list of processes of a machine shows flags to everybody. */
type Flagged = Exclude<keyof Environment, 'JWT_SECRET' | 'MODEL_API_KEY' | 'REMOTE_HEADERS'>;

/** The name of the flag is that of the variable, unless the row has one. */
type Row = [group: string, summary: string, argument: string | undefined, name?: string];

const SERVICE = 'The service:';
const AGENTS = 'The agents:';
const ACCESS = 'Access:';
const RUNS = 'Runs and sessions:';
const LIMITS = 'Limits of a query:';
const KEPT = 'What is kept:';
const NONE = undefined;

const ROWS: Record<Flagged, Row> = {
  HOST: [SERVICE, 'the address to listen on', 'address'],
  PORT: [SERVICE, 'the port to listen on; 0 takes a free one', 'number'],
  DATABASE_URL: [SERVICE, 'where runs are kept: file:<path>, postgres://… or memory:', 'url', '--database'],
  QUEUE_URL: [SERVICE, 'what brings waiting runs to free slots: postgres://… or redis://…', 'url', '--queue'],
  ROLE: [SERVICE, 'what this process does: all, api or worker', 'role'],
  LOG_FORMAT: [SERVICE, 'text or json; by default text on a terminal', 'format'],
  LOG_LEVEL: [SERVICE, 'the least important level that is logged', 'level'],
  PLAYGROUND: [SERVICE, 'whether GET / shows a page to try the agents: on or off', 'on|off'],
  METRICS_PORT: [SERVICE, 'a port for the metrics alone', 'number'],
  AGENT: [AGENTS, 'the same as the argument [agent]', 'agent'],
  AGENTS: [AGENTS, 'several agents: name=agent of each, with commas', 'list'],
  WATCH: [AGENTS, 'load a module again when its files change', NONE],
  COMMAND: [AGENTS, 'with the agent command: the program that answers', 'program'],
  COMMAND_PROCESSES: [AGENTS, 'with the agent command: programs at once', 'number'],
  REMOTE_URL: [AGENTS, 'with the agent remote: where the other service is', 'url'],
  MODEL_BASE_URL: [AGENTS, 'with the agent model: where the endpoint is', 'url'],
  MODEL: [AGENTS, 'the name of the model', 'name'],
  MODEL_INSTRUCTIONS: [AGENTS, 'what the model is told first, or a file of it', 'text'],
  MODEL_TEMPERATURE: [AGENTS, 'how much chance there is in its answers', 'number'],
  MODEL_MAX_OUTPUT_TOKENS: [AGENTS, 'the most tokens of one step of an answer', 'number'],
  MODEL_KWARGS: [AGENTS, 'what callers may override by kwargs', 'list'],
  MODEL_CONTEXT_TOKENS: [AGENTS, 'how many tokens the conversation may have', 'number'],
  MODEL_INPUTS: [AGENTS, 'files that the model takes: image, pdf, audio', 'list'],
  MCP_SERVERS: [AGENTS, 'a file that names the MCP servers of the model', 'file'],
  MODEL_MAX_STEPS: [AGENTS, 'how often the model is asked for one answer', 'number'],
  MODEL_RETRIES: [AGENTS, 'how often a failed request to the model is sent again', 'number'],
  MODEL_SILENCE_MS: [AGENTS, 'how long the endpoint of the model may be silent', 'ms'],
  ACCESS: [ACCESS, '"open" allows other addresses than loopback without credentials', 'open'],
  API_KEYS: [ACCESS, 'name:sha256 of each API key, with commas', 'list'],
  API_KEYS_FILE: [ACCESS, 'a file with an API key in each line', 'file'],
  JWT_JWKS_URL: [ACCESS, 'where the issuer of tokens publishes its keys', 'url'],
  JWT_ISSUER: [ACCESS, 'the issuers of tokens', 'list'],
  JWT_AUDIENCE: [ACCESS, 'for whom a token must be', 'list'],
  JWT_CLOCK_TOLERANCE_SECONDS: [ACCESS, 'how much clocks may differ', 'seconds'],
  QUERIES_PER_MINUTE: [ACCESS, 'queries that an owner may begin in a minute', 'number'],
  CORS_ORIGIN: [ACCESS, 'the origins whose pages may use the endpoint', 'list'],
  TRUST_PROXY: [ACCESS, 'the proxies in front of the service', 'list'],
  MAX_CONNECTIONS_PER_ADDRESS: [ACCESS, 'open connections of one address', 'number'],
  HEAD_TIMEOUT_MS: [ACCESS, 'how long the head of a request may take', 'ms'],
  REQUEST_TIMEOUT_MS: [ACCESS, 'how long a whole request may take to arrive', 'ms'],
  MAX_RUNNING: [RUNS, 'runs that execute at once', 'number'],
  MAX_RUNNING_PER_OWNER: [RUNS, 'runs of one owner that execute at once', 'number'],
  MAX_WAITING: [RUNS, 'runs that wait', 'number'],
  MAX_WAITING_PER_OWNER: [RUNS, 'runs of one owner that wait', 'number'],
  RUN_TIMEOUT_MS: [RUNS, 'how long a handler may take', 'ms'],
  BACKPRESSURE_MS: [RUNS, 'how long slow followers may hold it back', 'ms'],
  STOP_DEADLINE_MS: [RUNS, 'how long it may take to stop when asked', 'ms'],
  DISCONNECT: [RUNS, 'when the last follower leaves: continue, cancel or grace', 'policy'],
  DISCONNECT_GRACE_MS: [RUNS, 'how long "grace" waits for a follower', 'ms'],
  SESSION_POLICY: [RUNS, 'a query of a busy session: enqueue, reject or interrupt', 'policy'],
  MAX_WAITING_PER_SESSION: [RUNS, 'queries of one session that wait', 'number'],
  SESSION_TURNS: [RUNS, 'earlier turns that a handler receives', 'number'],
  KEEP_ALIVE_MS: [RUNS, 'after how long a silence a stream gets a keep-alive', 'ms'],
  DRAIN_MS: [RUNS, 'how long runs may continue at a shutdown', 'ms'],
  MAX_FILE_BYTES: [LIMITS, 'one file, decoded', 'bytes'],
  MAX_FILES_BYTES: [LIMITS, 'all files of a query, decoded', 'bytes'],
  MAX_SPOOL_BYTES: [LIMITS, 'files on disk, of all queries', 'bytes'],
  MAX_UPLOAD_BYTES_PER_OWNER: [LIMITS, 'files of one owner in transit', 'bytes'],
  MAX_TEXT_BYTES: [LIMITS, 'one text', 'bytes'],
  MAX_DOCUMENT_BYTES: [LIMITS, 'everything that is not file content', 'bytes'],
  MAX_VALUES: [LIMITS, 'JSON values', 'number'],
  MAX_PARTS: [LIMITS, 'parts of a query', 'number'],
  MAX_DEPTH: [LIMITS, 'arrays and objects inside one another', 'number'],
  BODY_IDLE_MS: [LIMITS, 'how long a body may make no progress', 'ms'],
  FILE_MEMORY_BYTES: [LIMITS, 'a larger file goes to disk', 'bytes'],
  SPOOL_DIRECTORY: [LIMITS, 'where temporary files of queries are', 'directory'],
  REJECT_MISMATCHED_TYPES: [LIMITS, 'refuse files of clearly another type', NONE],
  RETENTION_RUN_MS: [KEPT, 'an ended run and its log', 'ms'],
  RETENTION_LOG_LENGTH: [KEPT, 'the log of one run, in characters of JSON', 'number'],
  RETENTION_TOTAL_LENGTH: [KEPT, 'the logs of all runs', 'number'],
  RETENTION_SESSION_MS: [KEPT, 'a session, after its last turn', 'ms'],
  RETENTION_SESSIONS_LENGTH: [KEPT, 'all sessions, in characters of JSON', 'number'],
  RETENTION_FILE_MS: [KEPT, 'the content of a file', 'ms'],
  RETENTION_FILES_BYTES: [KEPT, 'the content of all files', 'bytes'],
};

/** The flags of the service, in the order of its help. */
export const FLAGS: readonly Flag[] = Object.entries(ROWS).map(
  ([variable, [group, summary, argument, name]]) => ({
    variable: variable as Flagged,
    name: name ?? `--${variable.toLowerCase().replaceAll('_', '-')}`,
    argument,
    summary,
    group,
  }),
);
