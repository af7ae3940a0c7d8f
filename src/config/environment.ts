import { IsIn } from 'class-validator';
import {
  DEFAULT_BODY_LIMITS,
  RANGES,
  type Role,
  RUN_DEFAULTS,
  type SessionPolicy,
  STREAM_DEFAULTS,
} from '../query/index.js';
import { CONNECTION_DEFAULTS, CONNECTION_RANGES } from '../access/index.js';
import { MODEL_INPUTS, MODEL_KWARGS, MODEL_RANGES, TEMPERATURES } from '../adapters/model-limits.js';
import { LOG_LEVELS, type LogLevelName } from '../logger.js';
import { isAddressOrNetwork, isName, isOneOf, isOriginOrAll } from './lists.js';
import { faultOfAddress, faultOfHeaders, faultOfKey, faultOfKeys, faultOfSecret } from './secrets.js';
import { Decimal, Each, mustBe, Secret, Text, WholeNumber } from './variable.js';

/** The variables of the standalone service. Sizes are bytes, times milliseconds. */
export class Environment {
  /** The address to listen on. */
  @Text()
  readonly HOST: string = '127.0.0.1';

  /** The port to listen on; 0 takes a free one. */
  @WholeNumber([0, 65_535])
  readonly PORT: number = 3000;

  /** `open` lets the service listen on addresses other than loopback without credentials: everybody may use it. */
  @IsIn(['', 'open'], { message: mustBe('"open" or empty') })
  readonly ACCESS: '' | 'open' = '';

  /** The API keys: `name:sha256` of each, with commas between them. `nest-agent-query keys create NAME` makes one. */
  @Secret(faultOfKeys)
  readonly API_KEYS: string = '';

  /** The path of a file with API keys, one `name:sha256` in each line. It is read again when it changes. */
  @Text({ mayBeEmpty: true })
  readonly API_KEYS_FILE: string = '';

  /** Where the issuer of tokens publishes its keys (JWKS). */
  @Secret(faultOfAddress)
  readonly JWT_JWKS_URL: string = '';

  /** The secret that is shared with the issuer of tokens, at least 32 bytes. */
  @Secret(faultOfSecret)
  readonly JWT_SECRET: string = '';

  /** The issuers of tokens, with commas between them. If empty, any. */
  @Each(isName, 'names with commas between them')
  readonly JWT_ISSUER: string = '';

  /** For whom a token must be, with commas between several names. If empty, for anybody. */
  @Each(isName, 'names with commas between them')
  readonly JWT_AUDIENCE: string = '';

  /** By how many seconds the clocks of the issuer and of the service may differ. */
  @WholeNumber([0, 300])
  readonly JWT_CLOCK_TOLERANCE_SECONDS: number = 5;

  /** How many queries an owner may begin in a minute. */
  @WholeNumber([1, 1_000_000], { mayBeAbsent: true })
  readonly QUERIES_PER_MINUTE: number | undefined = undefined;

  /** Runs of one owner that execute at once. A further query waits. */
  @WholeNumber(RANGES.runs.maxRunningPerOwner, { mayBeAbsent: true })
  readonly MAX_RUNNING_PER_OWNER: number | undefined = undefined;

  /** Runs of one owner that wait. */
  @WholeNumber(RANGES.runs.maxWaitingPerOwner, { mayBeAbsent: true })
  readonly MAX_WAITING_PER_OWNER: number | undefined = undefined;

  /** Bytes of the files of one owner that are in transit: from their arrival until their run has ended. */
  @WholeNumber(RANGES.limits.filesBytesPerOwner, { mayBeAbsent: true })
  readonly MAX_UPLOAD_BYTES_PER_OWNER: number | undefined = undefined;

  /** The origins whose pages may use the endpoint, with commas between them; `*` for all. If empty, none. */
  @Each(isOriginOrAll, 'origins such as https://app.example.com with commas between them, or "*"')
  readonly CORS_ORIGIN: string = '';

  /** The addresses and networks of the proxies in front of the service, with commas between them. If empty, none. */
  @Each(
    isAddressOrNetwork,
    'addresses or networks such as 10.0.0.0/8 with commas between them, or "loopback"',
  )
  readonly TRUST_PROXY: string = '';

  /** Open connections of one address; those of `TRUST_PROXY` do not count. */
  @WholeNumber(CONNECTION_RANGES.perAddress)
  readonly MAX_CONNECTIONS_PER_ADDRESS: number = CONNECTION_DEFAULTS.perAddress;

  /** How long the head of a request may take. */
  @WholeNumber(CONNECTION_RANGES.headMs)
  readonly HEAD_TIMEOUT_MS: number = CONNECTION_DEFAULTS.headMs;

  /** How long a whole request may take until its last byte has arrived. */
  @WholeNumber(CONNECTION_RANGES.requestMs)
  readonly REQUEST_TIMEOUT_MS: number = CONNECTION_DEFAULTS.requestMs;

  /** Whether `GET /` shows a page to try the agents. If empty, only where the service listens on a loopback address. */
  @IsIn(['', 'on', 'off'], { message: mustBe('"on" or "off"') })
  readonly PLAYGROUND: '' | 'on' | 'off' = '';

  /** A port that shows the metrics and nothing else; 0 takes a free one. Without it they are at `GET /metrics` of the service. */
  @WholeNumber([0, 65_535], { mayBeAbsent: true })
  readonly METRICS_PORT: number | undefined = undefined;

  /** How the log is written: `text`, or `json` with one object per line. If empty, `text` on a terminal and `json` elsewhere. */
  @IsIn(['', 'json', 'text'], { message: mustBe('"json" or "text"') })
  readonly LOG_FORMAT: '' | 'json' | 'text' = '';

  /** The least important level that is logged. */
  @IsIn(LOG_LEVELS, { message: mustBe(LOG_LEVELS.map((level) => `"${level}"`).join(', ')) })
  readonly LOG_LEVEL: LogLevelName = 'info';

  /** `files`, `model`, `command` or `remote` for a built-in agent, or the path of a module (JavaScript or TypeScript) whose default export is a handler. */
  @Text()
  readonly AGENT: string = 'files';

  /** Several agents instead of `AGENT`: `name=agent` of each, with commas between them. Each is at `/{name}/query`. */
  @Text({ mayBeEmpty: true })
  readonly AGENTS: string = '';

  /** Whether a module is loaded again when its files change. The argument `--watch` sets it. */
  @IsIn(['true', 'false'], { message: mustBe('"true" or "false"') })
  readonly WATCH: 'true' | 'false' = 'false';

  /** With `AGENT=command`: what `/bin/sh -c` executes for each query. */
  @Text({ mayBeEmpty: true })
  readonly COMMAND: string = '';

  /** With `AGENT=command`: programs that execute at the same time. Further runs wait. */
  @WholeNumber(RANGES.runs.maxRunning, { mayBeAbsent: true })
  readonly COMMAND_PROCESSES: number | undefined = undefined;

  /** With `AGENT=remote`: where the remote service is. Queries are sent to `{REMOTE_URL}/query`. */
  @Secret(faultOfAddress)
  readonly REMOTE_URL: string = '';

  /** Headers of every request to the remote service, such as `X-Api-Key: …`; one in each line. */
  @Secret(faultOfHeaders)
  readonly REMOTE_HEADERS: string = '';

  /** With `AGENT=model`: where the endpoint is. Requests are sent to `{MODEL_BASE_URL}/chat/completions`. */
  @Secret(faultOfAddress)
  readonly MODEL_BASE_URL: string = '';

  /** The name of the model, as the endpoint has it. */
  @Text({ mayBeEmpty: true })
  readonly MODEL: string = '';

  /** The credential for the endpoint. */
  @Secret(faultOfKey)
  readonly MODEL_API_KEY: string = '';

  /** What the model is told before the conversation: a text, or the path of a file that begins with `/`, `./` or `../`. */
  @Text({ mayBeEmpty: true })
  readonly MODEL_INSTRUCTIONS: string = '';

  /** How much chance there is in the answers. If absent, the endpoint decides. */
  @Decimal(TEMPERATURES)
  readonly MODEL_TEMPERATURE: number | undefined = undefined;

  /** The most tokens of one step of an answer. */
  @WholeNumber(MODEL_RANGES.maxOutputTokens, { mayBeAbsent: true })
  readonly MODEL_MAX_OUTPUT_TOKENS: number | undefined = undefined;

  /** What callers may override by kwargs, with commas between them. If empty, nothing. */
  @Each(isOneOf(MODEL_KWARGS), `of ${MODEL_KWARGS.join(', ')}, with commas between them`)
  readonly MODEL_KWARGS: string = '';

  /** How many tokens the model can take. The oldest turns of a session are left out beyond that. */
  @WholeNumber(MODEL_RANGES.contextTokens, { mayBeAbsent: true })
  readonly MODEL_CONTEXT_TOKENS: number | undefined = undefined;

  /** The kinds of files that the model takes as they are, with commas between them. Any other file becomes a text. */
  @Each(isOneOf(MODEL_INPUTS), `of ${MODEL_INPUTS.join(', ')}, with commas between them`)
  readonly MODEL_INPUTS: string = '';

  /** The path of a file that names the MCP servers whose tools the model may call. */
  @Text({ mayBeEmpty: true })
  readonly MCP_SERVERS: string = '';

  /** How often the model may be asked for one answer. */
  @WholeNumber(MODEL_RANGES.maxSteps, { mayBeAbsent: true })
  readonly MODEL_MAX_STEPS: number | undefined = undefined;

  /** How often a request to the endpoint is sent again that has failed before its first token. */
  @WholeNumber(MODEL_RANGES.retries, { mayBeAbsent: true })
  readonly MODEL_RETRIES: number | undefined = undefined;

  /** How long the endpoint may be silent. */
  @WholeNumber(MODEL_RANGES.silenceMs, { mayBeAbsent: true })
  readonly MODEL_SILENCE_MS: number | undefined = undefined;

  /** Where runs, logs, sessions and files are kept: `file:<path>`, `postgres://…` or `memory:`. */
  @Text()
  readonly DATABASE_URL: string = 'file:./data/agent-query.db';

  /**
   * The queue that brings waiting runs to free slots: `postgres://…` or `redis://…`. If empty, the signals of the database do
   * that. Needs a `DATABASE_URL` that processes share.
   */
  @Text({ mayBeEmpty: true })
  readonly QUEUE_URL: string = '';

  /** How long a run and its log are kept after its end. */
  @WholeNumber(RANGES.retention.runMs, { mayBeAbsent: true })
  readonly RETENTION_RUN_MS: number | undefined = undefined;

  /** How much of the log of an unfinished run is kept, in characters of JSON; never less than the newest 64 Ki. */
  @WholeNumber(RANGES.retention.logLength, { mayBeAbsent: true })
  readonly RETENTION_LOG_LENGTH: number | undefined = undefined;

  /** How much is kept of all logs together, in characters of JSON. */
  @WholeNumber(RANGES.retention.totalLength, { mayBeAbsent: true })
  readonly RETENTION_TOTAL_LENGTH: number | undefined = undefined;

  /** How long a session is kept after its last turn. */
  @WholeNumber(RANGES.retention.sessionMs, { mayBeAbsent: true })
  readonly RETENTION_SESSION_MS: number | undefined = undefined;

  /** How much is kept of the turns of all sessions together, in characters of JSON. */
  @WholeNumber(RANGES.retention.sessionsLength, { mayBeAbsent: true })
  readonly RETENTION_SESSIONS_LENGTH: number | undefined = undefined;

  /** How long the content of a file is kept. Not with `DATABASE_URL=memory:`. */
  @WholeNumber(RANGES.retention.fileMs, { mayBeAbsent: true })
  readonly RETENTION_FILE_MS: number | undefined = undefined;

  /** How many bytes of contents of files are kept. */
  @WholeNumber(RANGES.retention.filesBytes, { mayBeAbsent: true })
  readonly RETENTION_FILES_BYTES: number | undefined = undefined;

  /** One file, decoded. */
  @WholeNumber(RANGES.limits.fileBytes)
  readonly MAX_FILE_BYTES: number = DEFAULT_BODY_LIMITS.fileBytes;

  /** All files of a query, decoded. */
  @WholeNumber(RANGES.limits.filesBytes)
  readonly MAX_FILES_BYTES: number = DEFAULT_BODY_LIMITS.filesBytes;

  /** All files that are on disk at the same time, of all queries. */
  @WholeNumber(RANGES.limits.spoolBytes)
  readonly MAX_SPOOL_BYTES: number = DEFAULT_BODY_LIMITS.spoolBytes;

  /** One text. */
  @WholeNumber(RANGES.limits.textBytes)
  readonly MAX_TEXT_BYTES: number = DEFAULT_BODY_LIMITS.textBytes;

  /** Everything in a query that is not file content. */
  @WholeNumber(RANGES.limits.documentBytes)
  readonly MAX_DOCUMENT_BYTES: number = DEFAULT_BODY_LIMITS.documentBytes;

  /** JSON values in a query: strings, numbers, literals, arrays and objects. */
  @WholeNumber(RANGES.limits.values)
  readonly MAX_VALUES: number = DEFAULT_BODY_LIMITS.values;

  /** Parts of a query. */
  @WholeNumber(RANGES.limits.parts)
  readonly MAX_PARTS: number = DEFAULT_BODY_LIMITS.parts;

  /** Levels of nested arrays and objects. */
  @WholeNumber(RANGES.limits.depth)
  readonly MAX_DEPTH: number = DEFAULT_BODY_LIMITS.depth;

  /** How long a body may make no progress. */
  @WholeNumber(RANGES.limits.idleMs)
  readonly BODY_IDLE_MS: number = DEFAULT_BODY_LIMITS.idleMs;

  /** A file up to this size stays in memory. A larger one is written to the spool. */
  @WholeNumber(RANGES.limits.memoryBytes)
  readonly FILE_MEMORY_BYTES: number = DEFAULT_BODY_LIMITS.memoryBytes;

  /** The directory of the spool. If empty, the system's directory for temporary files. */
  @Text({ mayBeEmpty: true })
  readonly SPOOL_DIRECTORY: string = '';

  /** Whether to refuse files whose bytes are clearly of another type than declared. */
  @IsIn(['true', 'false'], { message: mustBe('"true" or "false"') })
  readonly REJECT_MISMATCHED_TYPES: 'true' | 'false' = 'false';

  /** What this process does: `all`, `api` (admits and follows) or `worker` (executes). The last two need Postgres. */
  @IsIn(['all', 'api', 'worker'], { message: mustBe('"all", "api" or "worker"') })
  readonly ROLE: Role = 'all';

  /** The time limit of a run. */
  @WholeNumber(RANGES.runs.timeoutMs)
  readonly RUN_TIMEOUT_MS: number = RUN_DEFAULTS.timeoutMs;

  /** How long slow followers may hold a handler back at a time; it does not count for `RUN_TIMEOUT_MS`. */
  @WholeNumber(RANGES.runs.backpressureMs)
  readonly BACKPRESSURE_MS: number = RUN_DEFAULTS.backpressureMs;

  /** How long a handler may take to stop after its signal was aborted. */
  @WholeNumber(RANGES.runs.stopDeadlineMs)
  readonly STOP_DEADLINE_MS: number = RUN_DEFAULTS.stopDeadlineMs;

  /** What happens to a run when its last follower leaves. */
  @IsIn(['continue', 'cancel', 'grace'], { message: mustBe('"continue", "cancel" or "grace"') })
  readonly DISCONNECT: 'continue' | 'cancel' | 'grace' = 'grace';

  /** With `DISCONNECT=grace`: how long the run waits for a follower. */
  @WholeNumber(RANGES.disconnect.graceMs)
  readonly DISCONNECT_GRACE_MS: number = 30_000;

  /** Runs that execute at once. */
  @WholeNumber(RANGES.runs.maxRunning)
  readonly MAX_RUNNING: number = RUN_DEFAULTS.maxRunning;

  /** Runs that wait. */
  @WholeNumber(RANGES.runs.maxWaiting)
  readonly MAX_WAITING: number = RUN_DEFAULTS.maxWaiting;

  /** What happens to a query of a session that has an unfinished run. */
  @IsIn(['enqueue', 'reject', 'interrupt'], { message: mustBe('"enqueue", "reject" or "interrupt"') })
  readonly SESSION_POLICY: SessionPolicy = RUN_DEFAULTS.sessionPolicy;

  /** Queries of one session that wait. */
  @WholeNumber(RANGES.runs.maxWaitingPerSession)
  readonly MAX_WAITING_PER_SESSION: number = RUN_DEFAULTS.maxWaitingPerSession;

  /** Earlier turns that a handler is given at most. */
  @WholeNumber(RANGES.runs.sessionTurns)
  readonly SESSION_TURNS: number = RUN_DEFAULTS.sessionTurns;

  /** How often an idle stream sends a keep-alive. */
  @WholeNumber(RANGES.streams.keepAliveMs)
  readonly KEEP_ALIVE_MS: number = STREAM_DEFAULTS.keepAliveMs;

  /** How long runs may continue when the service shuts down. */
  @WholeNumber(RANGES.runs.drainMs)
  readonly DRAIN_MS: number = RUN_DEFAULTS.drainMs;
}
