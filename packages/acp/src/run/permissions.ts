import { QueryError, type QueryContext, type Question, type ResolvedInput } from 'nest-agent-query';
import { decisionOf, keepSteps } from 'nest-agent-query-adapters';
import type { AcpSettings, AskedCall } from '../acp-options.js';
import { outcomeOf, questionOf } from '../translate/index.js';
import { type AcpState, type AskedQuestion, markOf, type RecordedAnswer } from './acp-state.js';
import type { PermissionRequest } from './protocol.js';
import type { Permission, Turn } from './turn.js';

/** A call that was rejected, and why. */
export interface Rejection {
  message: string;
  reason: string | undefined;
}

interface Asked {
  permission: Permission;
  question: Question;
}

/** Decides about what the agent asks: by an earlier answer, by the host, or by a person. */
export class Permissions {
  /** What was rejected by a person or the host since the last prompt. */
  rejected: Rejection[] = [];

  /**
   * @param state the checkpoint of the run, which is changed
   * @param recorded answers to questions of a process that was lost: each is given once
   */
  constructor(
    private readonly settings: AcpSettings,
    private readonly context: QueryContext,
    private readonly state: AcpState,
    private recorded: RecordedAnswer[],
  ) {}

  /**
   * Answers permissions.
   *
   * @returns the answers that the agent could not be given, because its process was lost meanwhile
   * @throws what `context.ask` throws
   */
  async answer(turn: Turn, permissions: Permission[]): Promise<RecordedAnswer[]> {
    const asked: Asked[] = [];
    for (const permission of permissions) {
      const outcome = this.#recordedOutcome(permission) ?? (await this.#decided(permission));
      if (outcome) turn.answer(permission, outcome);
      else this.#question(turn, permission, asked);
    }
    if (asked.length === 0) return [];
    return this.#ask(turn, asked);
  }

  /** The agent goes its own way: what was recorded is of the past. */
  forget(): void {
    this.recorded = [];
  }

  #recordedOutcome({ request, call }: Permission): object | undefined {
    const mark = markOf(request, call);
    const index = this.recorded.findIndex(({ question }) => question.mark === mark);
    if (index < 0) return undefined;
    const [{ answer }] = this.recorded.splice(index, 1) as [RecordedAnswer];
    return outcomeOf(request, answer);
  }

  async #decided(permission: Permission): Promise<object | undefined> {
    const { approve } = this.settings;
    const { request } = permission;
    const decided = await approve?.(askedCall(permission), this.context);
    if (decided === undefined) return undefined;
    if (typeof decided === 'string') return { outcome: 'selected', optionId: decided };
    if (!decided) this.#reject(permission, undefined);
    return outcomeOf(request, decided);
  }

  #question(turn: Turn, permission: Permission, asked: Asked[]): void {
    const question = questionOf(permission.request, permission.call, this.state.keys);
    if (!question) return turn.answer(permission, { outcome: 'cancelled' });
    this.state.keys.push(question.key);
    asked.push({ permission, question });
  }

  async #ask(turn: Turn, asked: Asked[]): Promise<RecordedAnswer[]> {
    this.state.waiting = asked.map(({ permission: { request, call }, question }) => {
      const { key, message, kind } = question;
      return { key, message, kind, mark: markOf(request, call) };
    });
    const answers = await this.#answers(asked.map(({ question }) => question));
    const waiting = this.state.waiting.map((question, index) => ({ question, answer: answers[index]! }));
    if (turn.isLost) return waiting;
    // Before the agent has them: to ask again is better than to execute a call twice.
    this.state.waiting = [];
    if (this.settings.resumeText !== null) await keepSteps(this.context, this.state);
    if (turn.isLost) return waiting;
    for (const [index, { permission }] of asked.entries()) {
      const answer = answers[index]!;
      const outcome = outcomeOf(permission.request, answer);
      if (!isAllowed(permission.request, outcome as { optionId?: string })) this.#reject(permission, answer);
      turn.answer(permission, outcome);
    }
    return [];
  }

  async #answers(questions: Question[]): Promise<ResolvedInput[]> {
    const { resumeText } = this.settings;
    try {
      return await this.context.ask(questions, resumeText === null ? {} : { checkpoint: this.state });
    } catch (error) {
      if (!(error instanceof TypeError) && !(error instanceof RangeError)) throw error;
      throw new QueryError(
        'invalid_envelope',
        `The agent asked something that is not valid. ${error.message}`,
        {},
        {
          cause: error,
        },
      );
    }
  }

  #reject({ call }: Permission, answer: ResolvedInput | undefined): void {
    const reason = answer && decisionOf(answer).reason;
    call.refusal = reason ?? 'The call is not allowed.';
    this.rejected.push({ message: call.title ?? call.name, reason });
  }
}

/** The questions of a lost process once more: they have their answers. */
export function askedAgain(waiting: readonly AskedQuestion[]): Question[] {
  return waiting.map(({ key, message, kind }) => ({ key, message, kind }));
}

function isAllowed({ options = [] }: PermissionRequest, { optionId }: { optionId?: string }): boolean {
  return options.find((each) => each.optionId === optionId)?.kind.startsWith('allow') === true;
}

function askedCall({ request, call }: Permission): AskedCall {
  const { title, kind, rawInput } = call;
  return {
    toolCallId: call.id,
    ...(title !== undefined && { title }),
    ...(kind !== undefined && { kind }),
    ...(rawInput !== undefined && { arguments: rawInput }),
    options: request.options ?? [],
  };
}
