import { stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { Logger } from '@nestjs/common';
import { type Envelope, log, type Query, type QueryContext } from 'nest-agent-query';
import { keepSteps } from 'nest-agent-query-adapters';
import { CallGate } from './call-gate.js';
import type { ClaudeAgentSettings } from './claude-agent-options.js';
import { ClaudeProcess, type SpawnRequest } from './claude-process.js';
import { Execution } from './execution.js';
import { claudeFailure, endOf, stateLost } from './failures.js';
import { MessageEnvelopes } from './message-envelopes.js';
import type { Place } from './places.js';
import { GO_ON, promptOf } from './prompt.js';
import { type Decision, decisionAbout, questionsOf, type WaitingCall } from './questions.js';
import type { ClaudeBlock, ClaudeMessage, ClaudeQuery, HookedCall } from './sdk.js';

/** What is stored of a run. */
interface KeptState {
  /** The keys of the questions that were asked. */
  asked: string[];
  /** The call that waits for a person. */
  waiting?: WaitingCall;
  /** Whether a person has allowed it, and the program may have begun it. */
  isAllowed?: boolean;
}

const MAYBE_EXECUTED =
  'The service was lost while this call was executed. Whether it was completed is not known: look, before you repeat it.';

const AWAIT_HOOKS = '--await-initialize';

const logger = new Logger('ClaudeAgent');

/** An attempt of one run. */
export class ClaudeRun<K extends object> {
  #state: KeptState;
  #hasBegun = false;
  #cwd = '';
  /** The call with which the last execution has ended. */
  #waiting: WaitingCall | undefined;

  constructor(
    private readonly place: Place,
    private readonly settings: ClaudeAgentSettings<K>,
    private readonly query: Query<K>,
    private readonly context: QueryContext,
    private readonly claude: ClaudeQuery,
  ) {
    this.#state = (context.resumed?.state as KeptState | undefined) ?? { asked: [] };
  }

  /** The answer of Claude. */
  async *envelopes(): AsyncGenerator<Envelope> {
    const { signal } = this.context;
    try {
      await this.place.make();
      this.#cwd = await this.#workingDirectory();
      yield* this.#begin();
      while (this.#waiting && !signal.aborted) yield* this.#ask(this.#waiting);
    } catch (error) {
      if (signal.aborted) return;
      // What an endpoint has refused would be refused with each later question.
      if (!this.#hasBegun && !this.context.resumed) await this.place.forget();
      throw claudeFailure(error, this.#hasBegun);
    } finally {
      const isHandedOver = (signal.reason as Error | undefined)?.name === 'HandedOver';
      if (!this.context.session && !isHandedOver) await this.place.remove();
    }
  }

  async *#begin(): AsyncGenerator<Envelope> {
    const { context, place } = this;
    const isKnown = await place.knows(context);
    const { waiting } = this.#state;
    if (waiting && !isKnown) throw stateLost();
    if (waiting && !(await place.hasResult(waiting.id))) {
      if (this.#state.isAllowed) yield* this.#execute(undefined, refusal(waiting, MAYBE_EXECUTED));
      else this.#waiting = waiting;
      return;
    }
    if (!isKnown) await place.forget();
    if (!isKnown && context.history.length > 0)
      yield log('The agent does not have this conversation any more. It is told what was said.');
    // What the earlier attempt was asked is in the conversation.
    if (isKnown && context.resumed?.state !== undefined) {
      yield* this.#execute(GO_ON, undefined);
      return;
    }
    const { blocks, notes } = await promptOf(this.query, context, this.settings, isKnown);
    yield* notes;
    await place.begin(context.runId);
    yield* this.#execute(blocks, undefined, isKnown);
  }

  async *#ask(call: WaitingCall): AsyncGenerator<Envelope> {
    const { asked } = this.#state;
    const questions = questionsOf(call, asked, this.#cwd);
    this.#waiting = undefined;
    if (questions.length === 0) {
      yield* this.#execute(undefined, refusal(call, 'The question has no text.'));
      return;
    }
    const checkpoint: KeptState = { asked, waiting: call };
    const answers = await this.context.ask(questions, { checkpoint });
    this.#state = { asked: [...asked, ...questions.map(({ key }) => key)], waiting: call };
    yield* this.#execute(undefined, decisionAbout(call, answers));
  }

  /**
   * Lets Claude work, until it has ended or a call waits for a person.
   *
   * @param blocks what it is told; undefined: nothing, the call that waits is decided
   */
  async *#execute(
    blocks: ClaudeBlock[] | undefined,
    decision: Decision | undefined,
    resumes = true,
  ): AsyncGenerator<Envelope> {
    const gate = new CallGate(this.settings, this.context, decision, () => this.#keep({ isAllowed: true }));
    const { directory } = this.settings;
    const program = await ClaudeProcess.prepare(directory, (line) =>
      logger.log(`Run ${this.context.runId}: ${line}`),
    );
    try {
      const options = this.#options(gate, resumes, program) as never;
      const execution = new Execution(
        (prompt) => this.claude({ prompt, options }),
        blocks,
        this.context.signal,
      );
      try {
        yield* this.#read(execution, gate);
      } finally {
        await execution.stop();
      }
    } finally {
      await program.stop();
    }
  }

  async *#read(execution: Execution, gate: CallGate<K>): AsyncGenerator<Envelope> {
    const translation = new MessageEnvelopes(gate.refusals, this.#cwd);
    let mustSkip = false;
    let isOver = false;
    try {
      for await (const each of execution.messages()) {
        if (each.type === 'system' && each['subtype'] === 'init') gate.modelWorks();
        // It answers first what has become of an old call: that belongs to no question.
        if (gate.hasRefusedOldCall && !isOver && !mustSkip) mustSkip = true;
        if (mustSkip) {
          if (each.type !== 'result') continue;
          mustSkip = gate.hasRefusedOldCall = false;
          continue;
        }
        for (const envelope of translation.of(each)) yield this.#told(envelope);
        if (each.type === 'user') await this.#keepResults(each);
        if (each.type !== 'result') continue;
        isOver = true;
        execution.end();
        this.#waiting = waitingCallOf(each);
        if (!this.#waiting) yield* endOf(each);
      }
    } catch (error) {
      // A failure that the result has told is thrown once more, by the SDK.
      if (!isOver || !isToldTwice(error)) throw error;
    }
    if (!isOver && !this.context.signal.aborted) throw new Error('Claude Code ended without a result.');
  }

  /** @throws {Error} the host has named a directory that is none: Node takes the program for missing then */
  async #workingDirectory(): Promise<string> {
    const given = this.settings.cwd?.(this.query, this.context);
    if (given === undefined) return this.place.cwd;
    const found = await stat(given).catch(() => undefined);
    if (isAbsolute(given) && found?.isDirectory()) return given;
    throw new Error(
      `The option "cwd" returned ${JSON.stringify(given)}, which is no absolute path of a directory. Make it, or correct its path.`,
    );
  }

  #told(envelope: Envelope): Envelope {
    this.#hasBegun ||= envelope.type !== 'log';
    return envelope;
  }

  async #keepResults(each: ClaudeMessage): Promise<void> {
    if (each['parent_tool_use_id'] != null || each['tool_use_result'] === undefined) return;
    const { asked } = this.#state;
    this.#state = { asked };
    if (this.settings.restarts > 0) await keepSteps(this.context, this.#state);
  }

  async #keep(more: Partial<KeptState>): Promise<void> {
    this.#state = { ...this.#state, ...more };
    if (this.settings.restarts > 0) await keepSteps(this.context, this.#state);
  }

  #options(gate: CallGate<K>, resumes: boolean, program: ClaudeProcess): object {
    const { settings, context, place, query } = this;
    const own = typeof settings.options === 'function' ? settings.options(query, context) : settings.options;
    const { conversation } = place;
    const hooks = (own?.['hooks'] ?? {}) as Record<string, unknown[]>;
    const decide = { hooks: [(call: HookedCall) => gate.decide(call)] };
    return {
      permissionMode: 'default',
      settingSources: [],
      ...own,
      includePartialMessages: true,
      cwd: this.#cwd,
      env: place.environment(settings.env),
      ...(resumes ? { resume: conversation } : { sessionId: conversation }),
      hooks: { ...hooks, PreToolUse: [...(hooks['PreToolUse'] ?? []), decide] },
      // Without it, Claude is not offered the tool that asks the user.
      canUseTool: (_name: string, input: unknown, { toolUseID }: { toolUseID: string }) =>
        gate.permit(toolUseID, input),
      spawnClaudeCodeProcess: (request: SpawnRequest) => program.start(withHooks(request, resumes)),
    };
  }
}

/** A program that begins with a call that waits must know the hook before. The SDK says so only where it starts the program itself. */
function withHooks(request: SpawnRequest, resumes: boolean): SpawnRequest {
  if (!resumes || request.args.includes(AWAIT_HOOKS)) return request;
  return { ...request, args: [...request.args, AWAIT_HOOKS] };
}

/** Whether the SDK has thrown what its last message has said. */
function isToldTwice(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('Claude Code returned an error result');
}

function refusal({ id }: WaitingCall, reason: string): Decision {
  return { id, isAllowed: false, reason };
}

function waitingCallOf({
  stop_reason: why,
  deferred_tool_use: call,
}: ClaudeMessage): WaitingCall | undefined {
  return why === 'tool_deferred' ? (call as WaitingCall | undefined) : undefined;
}
