import { QueryError } from 'nest-agent-query';
import { settlesWithin } from 'nest-agent-query/agents';
import type { AcpSettings } from '../acp-options.js';
import type { AgentProcess } from '../process/agent-process.js';
import { type JsonRpcId, type PeerHandlers, RpcError } from '../process/peer.js';
import type { Translation } from '../translate/index.js';
import { notSignedIn } from './failures.js';
import type { Initialized, Opened } from './protocol.js';
import { Turn } from './turn.js';

const VERSION = 1;
const METHOD_NOT_FOUND = -32601;
const MUST_SIGN_IN = -32000;

/** What agents answer where a session is asked for that they do not have any more. */
const LOST = [-32002, -32602, -32603];

/** The first load of gemini-cli in the minute of the session's beginning, and every second one, destroy the session. */
const DESTROYS_SESSIONS = /^gemini/i;

/** An agent in a process, and its session. It has one turn at a time. */
export class Agent {
  /** What the peer of the process tells. */
  readonly handlers: PeerHandlers;
  #process: AgentProcess | undefined;
  #turn: Turn | undefined;
  #initialized: Initialized = {};
  #session: string | undefined;

  /** @param log is given what an operator should know */
  constructor(
    private readonly settings: AcpSettings,
    private readonly log: (line: string) => void,
  ) {
    this.handlers = {
      notification: (method, params) => this.#turn?.notification(method, params),
      request: (id, method, params) => this.#request(id, method, params),
      noise: (line) => log(`no JSON-RPC: ${line}`),
    };
  }

  /** The id of its session. Undefined until one is open. */
  get session(): string | undefined {
    return this.#session;
  }

  get process(): AgentProcess {
    return this.#process!;
  }

  get capabilities(): NonNullable<NonNullable<Initialized['agentCapabilities']>['promptCapabilities']> {
    return this.#initialized.agentCapabilities?.promptCapabilities ?? {};
  }

  /** Whether another process can open a session that this one has begun. */
  get canReopen(): boolean {
    return this.#reopening !== undefined;
  }

  /** @throws what the peer throws */
  async initialize(process: AgentProcess, signal?: AbortSignal): Promise<void> {
    this.#process = process;
    const clientCapabilities = { fs: { readTextFile: false, writeTextFile: false }, terminal: false };
    const params = { protocolVersion: VERSION, clientCapabilities };
    this.#initialized = (await this.#call('initialize', params, signal)) ?? {};
    const { protocolVersion } = this.#initialized;
    if (protocolVersion !== VERSION)
      throw new Error(
        `The agent speaks version ${JSON.stringify(protocolVersion)} of ACP. Use a release of it that speaks version 1.`,
      );
  }

  /** Begins a session. @throws {QueryError} the agent cannot be used as it is configured · what the peer throws */
  async begin(cwd: string, signal: AbortSignal): Promise<void> {
    const opened = await this.#signedIn('session/new', this.#place(cwd), signal);
    if (typeof opened.sessionId !== 'string') throw new Error('The agent began a session without an id.');
    await this.#configure(opened.sessionId, opened, signal);
  }

  /**
   * Opens a session that another process has begun.
   *
   * @returns false if the agent does not have it any more
   * @throws as `begin`
   */
  async reopen(sessionId: string, cwd: string, signal: AbortSignal): Promise<boolean> {
    const method = this.#reopening;
    if (!method) return false;
    let opened: Opened;
    try {
      opened = await this.#signedIn(method, { sessionId, ...this.#place(cwd) }, signal);
    } catch (error) {
      if (!(error instanceof RpcError) || !LOST.includes(error.code)) throw error;
      this.log(`the agent could not open its session again: ${error.message}`);
      return false;
    }
    await this.#configure(sessionId, opened, signal);
    return true;
  }

  /**
   * Sends a prompt.
   *
   * @returns what the agent says, and its answer, which rejects with what the peer throws
   */
  prompt(blocks: object[], translation: Translation): { turn: Turn; answer: Promise<unknown> } {
    const turn = new Turn(this.process.peer, translation);
    this.#turn = turn;
    // What comes in the same bytes, but after the answer, is no part of the turn.
    const answered = () => (this.#turn = undefined);
    const params = { sessionId: this.#session, prompt: blocks };
    const answer = this.process.peer.request('session/prompt', params, undefined, answered);
    answer.then(
      () => turn.over(),
      (error: unknown) => turn.over(error),
    );
    return { turn, answer };
  }

  /**
   * Cancels the turn, if there is one: what it asks is answered with `cancelled`.
   *
   * @param milliseconds for which the answer of its prompt is waited for
   */
  async cancel(milliseconds: number): Promise<void> {
    const turn = this.#turn;
    if (!turn) return;
    this.process.peer.notify('session/cancel', { sessionId: this.#session });
    turn.stop();
    await settlesWithin(milliseconds, turn.ended);
  }

  /** Asks the agent to erase its session, where it can. */
  async erase(): Promise<void> {
    if (!this.#initialized.agentCapabilities?.sessionCapabilities?.delete) return;
    await this.#call('session/delete', { sessionId: this.#session });
  }

  get #reopening(): 'session/resume' | 'session/load' | undefined {
    const { agentCapabilities: can, agentInfo } = this.#initialized;
    if (DESTROYS_SESSIONS.test(agentInfo?.name ?? '')) return undefined;
    if (can?.sessionCapabilities?.resume) return 'session/resume';
    return can?.loadSession ? 'session/load' : undefined;
  }

  #place(cwd: string): object {
    return { cwd, mcpServers: this.settings.mcpServers };
  }

  async #signedIn(method: string, params: object, signal: AbortSignal): Promise<Opened> {
    try {
      return (await this.#call(method, params, signal)) ?? {};
    } catch (error) {
      const { authMethod: methodId } = this.settings;
      if (!(error instanceof RpcError) || error.code !== MUST_SIGN_IN) throw error;
      const { authMethods = [] } = this.#initialized;
      if (methodId === undefined)
        throw notSignedIn(
          error,
          authMethods.map(({ id }) => id),
        );
      await this.#call('authenticate', { methodId }, signal);
      return (await this.#call(method, params, signal)) ?? {};
    }
  }

  /** An agent does not keep its mode and its options with a session. */
  async #configure(sessionId: string, { modes }: Opened, signal: AbortSignal): Promise<void> {
    const { mode, configOptions } = this.settings;
    if (modes) {
      const offered = (modes.availableModes ?? []).map(({ id }) => id);
      if (!offered.includes(mode)) throw noMode(mode, offered);
      await this.#call('session/set_mode', { sessionId, modeId: mode }, signal);
    }
    for (const [configId, value] of Object.entries(configOptions)) {
      const type = typeof value === 'boolean' ? { type: 'boolean' } : {};
      await this.#call('session/set_config_option', { sessionId, configId, ...type, value }, signal);
    }
    this.#session = sessionId;
  }

  #call(method: string, params: object, signal?: AbortSignal): Promise<unknown> {
    return this.process.peer.request(method, params, signal);
  }

  /** Nobody waits for what the agent asks outside of a turn. */
  #request(id: JsonRpcId, method: string, params: unknown): void {
    const { peer } = this.process;
    if (method !== 'session/request_permission')
      return peer.refuse(id, METHOD_NOT_FOUND, `The client has no method ${method}.`);
    if (this.#turn) this.#turn.permission(id, params);
    else peer.reply(id, { outcome: { outcome: 'cancelled' } });
  }
}

function noMode(mode: string, offered: (string | undefined)[]): QueryError {
  const cause = new Error(
    `The agent has no mode ${JSON.stringify(mode)}. Its modes are: ${offered.join(', ')}. Set the option mode to the one in which ` +
      'the agent asks before it changes something.',
  );
  return new QueryError(
    'handler_failed',
    'The agent has no mode that asks before it acts, as it is configured. The service has logged what the operator can do.',
    {},
    { cause },
  );
}
