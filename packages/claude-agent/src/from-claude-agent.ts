import {
  AgentHandler,
  type Envelope,
  type Query,
  type QueryContext,
  type SessionRef,
} from 'nest-agent-query';
import { distinctCalls, Folders, leftoversEnded } from 'nest-agent-query-adapters';
import {
  type ClaudeAgentOptions,
  type ClaudeAgentSettings,
  claudeAgentSettings,
} from './claude-agent-options.js';
import { ClaudeRun } from './claude-run.js';
import { Place } from './places.js';
import { type ClaudeQuery, installedQuery } from './sdk.js';

/**
 * Makes a handler of Claude Code, with the Claude Agent SDK. What Claude says and does becomes envelopes. A call that a person must
 * allow makes the run ask: no program waits for the answer, and any later process goes on with it.
 *
 * @typeParam K the class that the option `kwargs` of the module names. Default: an object with any keys
 * @param options how queries are answered
 * @throws {TypeError} an option is not valid · {RangeError} a number is out of its range
 *
 * @example
 * const env = { ANTHROPIC_API_KEY: apiKey };
 * QueryModule.forRoot({ handler: fromClaudeAgent({ env, options: { model: 'claude-sonnet-5' } }) });
 */
export function fromClaudeAgent<K extends object = Record<string, unknown>>(
  options: ClaudeAgentOptions<K> = {},
): AgentHandler<K> {
  return new ClaudeAgentHandler(options);
}

class ClaudeAgentHandler<K extends object> extends AgentHandler<K> {
  override readonly restarts: number;
  readonly #settings: ClaudeAgentSettings<K>;
  readonly #folders: Folders;
  #claude: Promise<ClaudeQuery> | undefined;

  constructor(options: ClaudeAgentOptions<K>) {
    super();
    this.#settings = claudeAgentSettings(options);
    this.#folders = new Folders({ directory: this.#settings.directory, home: 'owner' });
    this.restarts = this.#settings.restarts;
  }

  /** Ends what a service that was killed has left. */
  async onModuleInit(): Promise<void> {
    await leftoversEnded(this.#settings.directory);
  }

  override async *handle(query: Query<K>, context: QueryContext): AsyncGenerator<Envelope> {
    const { query: given } = this.#settings;
    const claude = given ?? (await (this.#claude ??= installedQuery()));
    await leftoversEnded(this.#settings.directory);
    const { owner, session, runId } = context;
    // A run without a session has a conversation of its own.
    const id = session ? `session ${session.id}` : `run ${runId}`;
    const place = new Place(this.#folders, { owner, id });
    yield* distinctCalls(context, (run) =>
      new ClaudeRun(place, this.#settings, query, run, claude).envelopes(),
    );
  }

  /** Removes what is kept of the session, and what is kept of the owner with the last one. Of a session that goes on the files stay. */
  override async sessionErased({ owner, id, goesOn }: SessionRef): Promise<void> {
    const place = new Place(this.#folders, { owner, id: `session ${id}` });
    await (goesOn ? place.forget() : place.remove());
  }
}
