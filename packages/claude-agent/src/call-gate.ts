import type { QueryContext } from 'nest-agent-query';
import { notExecuted } from 'nest-agent-query-adapters';
import { type ClaudeAgentSettings, howToDecide } from './claude-agent-options.js';
import { ASKING_TOOL, type Decision } from './questions.js';
import type { HookedCall } from './sdk.js';

const STOPPED = 'The run was stopped.';
const UNDECIDED = 'Nobody has allowed the call. The user goes on with something else.';
const ONE_AT_A_TIME =
  'Only one call of a step can wait for the user. Make this call again when the other one has its result.';
const OF_SUBAGENT = 'A subagent cannot ask the user. The main agent must make this call itself.';

const AGAINST_RULES = 'The rules of the service do not allow this call.';

/** The answer to a question of Claude Code about a call. */
type Permission = { behavior: 'allow'; updatedInput: unknown } | { behavior: 'deny'; message: string };

/** The answer to the hook `PreToolUse`. */
type HookAnswer = Record<string, unknown>;

/** Decides which calls of one execution are made, which are refused, and which one waits for a person. */
export class CallGate<K extends object> {
  /** What is told of refused calls, by their ids. */
  readonly refusals = new Map<string, string>();
  /** Whether the program has been asked about a call that waited since an earlier run. */
  hasRefusedOldCall = false;
  /** Whether the model works: calls of before wait since an earlier execution. */
  #isModelWorking = false;
  #waitingId: string | undefined;

  /**
   * @param decision about the call that waits; undefined: none waits
   * @param allows is called before that call is made
   */
  constructor(
    private readonly settings: ClaudeAgentSettings<K>,
    private readonly context: QueryContext,
    private readonly decision: Decision | undefined,
    private readonly allows: () => Promise<void>,
  ) {}

  modelWorks(): void {
    this.#isModelWorking = true;
  }

  async decide(call: HookedCall): Promise<HookAnswer> {
    const { tool_use_id: id, tool_name: name, prompt_id: promptId } = call;
    const { signal } = this.context;
    if (signal.aborted) return this.#deny(id, STOPPED);
    const decision = this.#decisionAbout(id);
    if (decision) return this.#asDecided(decision);
    // The program makes such a call first, whatever it is told: a newer question must not execute it.
    if (!this.#isModelWorking && promptId === undefined) {
      this.hasRefusedOldCall = true;
      return this.#deny(id, UNDECIDED);
    }
    const how = await howToDecide(this.settings, { name, arguments: call.tool_input }, this.context);
    if (how === 'rules') return {};
    if (how === 'allow' && name !== ASKING_TOOL) return answer('allow');
    if (call.agent_id !== undefined) return this.#deny(id, OF_SUBAGENT);
    // Of two calls that wait, the program forgets one.
    this.#waitingId ??= id;
    return this.#waitingId === id ? answer('defer') : this.#deny(id, ONE_AT_A_TIME);
  }

  /** Answers what Claude Code asks about a call that the hook has left to its rules, or has not seen. */
  async permit(id: string, input: unknown): Promise<Permission> {
    const decision = this.#decisionAbout(id);
    if (decision?.isAllowed) {
      await this.allows();
      return { behavior: 'allow', updatedInput: decision.input ?? input };
    }
    const reason = decision?.reason ?? AGAINST_RULES;
    this.refusals.set(id, notExecuted(reason));
    return { behavior: 'deny', message: notExecuted(reason) };
  }

  /** The model may give a later call the same id. */
  #decisionAbout(id: string): Decision | undefined {
    return this.decision?.id === id && !this.#isModelWorking ? this.decision : undefined;
  }

  async #asDecided(decision: Decision): Promise<HookAnswer> {
    if (!decision.isAllowed) return this.#deny(decision.id, decision.reason);
    await this.allows();
    if (!decision.input) return answer('allow');
    // In the conversation, the call keeps the arguments of the model.
    const additionalContext = `The user has changed the arguments of this call to ${JSON.stringify(decision.input)}.`;
    return answer('allow', { updatedInput: decision.input, additionalContext });
  }

  #deny(id: string, reason: string): HookAnswer {
    this.refusals.set(id, notExecuted(reason));
    return answer('deny', { permissionDecisionReason: notExecuted(reason) });
  }
}

function answer(permissionDecision: 'allow' | 'deny' | 'defer', more: object = {}): HookAnswer {
  return { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision, ...more } };
}
