import {
  checkpointText,
  type Envelope,
  KeptAnswer,
  message,
  type QueryContext,
  QueryError,
  type QueryPart,
  type Question,
  type ResolvedInput,
  type RunEnd,
  type Turn,
  type TurnAnswer,
} from '../query/index.js';
import { inputsOf, type PartsInput, queryPartOf } from './part-input.js';

/** An earlier question of a session, and its answer. */
export interface TurnInput {
  question: PartsInput;
  /** The answer: its text, or its envelopes. Default: empty. */
  answer?: string | Envelope[];
  /** How the run ended. Default: completed. */
  end?: RunEnd;
}

/** What the context of a test has. Every member has a default. */
export interface ContextInput {
  /** Default `test-run`. */
  runId?: string;
  /** Default `anonymous`. */
  owner?: string;
  /** The session that the query names. Default: none, unless there are `turns`; then `test-session`. */
  sessionId?: string;
  /** The earlier turns of the session, oldest first. Default: none. */
  turns?: TurnInput[];
  /** How many turns the session has that are older than these. Default 0. */
  olderTurns?: number;
  /** The values of the answers to what the handler asks, by the keys of the questions. A question without one is declined. */
  answers?: Record<string, unknown>;
  /** What an earlier attempt has left. Default: none, as in the first attempt. */
  resumed?: QueryContext['resumed'];
}

/** A context that a test can abort, and that shows what the handler stores. */
export interface TestContext extends QueryContext {
  /** The states that the handler has given to `checkpoint`, as a later attempt would get them. */
  readonly checkpoints: unknown[];
  /** What the handler has asked. */
  readonly questions: Question[];
  /** Aborts the signal, as the service does when the run must stop. */
  abort(reason?: unknown): void;
}

/** The first turn has this time, and every later one is a minute younger. */
const FIRST_TURN_MS = Date.UTC(2000, 0);
const MINUTE_MS = 60_000;

/**
 * Makes the context for the unit test of a handler.
 *
 * @example
 * const context = await contextOf({ turns: [{ question: 'My name is Ada', answer: 'Hello Ada' }] });
 * const answer = handler.handle(await queryOf('Who am I?'), context);
 * context.abort();
 */
export async function contextOf(input: ContextInput = {}): Promise<TestContext> {
  const { runId = 'test-run', owner = 'anonymous', turns = [], olderTurns = 0 } = input;
  const sessionId = input.sessionId ?? (turns.length > 0 ? 'test-session' : undefined);
  const questions = await Promise.all(
    turns.map(({ question }) => Promise.all(inputsOf(question).map(queryPartOf))),
  );
  const controller = new AbortController();
  const checkpoints: unknown[] = [];
  const asked: Question[] = [];
  const checkpoint = async (state: unknown) => void checkpoints.push(JSON.parse(checkpointText(state)));
  return {
    runId,
    owner,
    session: sessionId === undefined ? undefined : sessionOf(sessionId, questions, olderTurns),
    history: turns.map((turn, index) => turnOf(turn, questions[index]!, index)),
    signal: controller.signal,
    resumed: input.resumed,
    checkpoints,
    checkpoint,
    questions: asked,
    ask: async (questions, options = {}) => {
      asked.push(...questions);
      if (options.checkpoint !== undefined) await checkpoint(options.checkpoint);
      return questions.map(({ key }) => resolvedOf(key, input.answers ?? {}, owner));
    },
    abort: (reason = new Error('The run is cancelled.')) => controller.abort(reason),
  };
}

function resolvedOf(id: string, answers: Record<string, unknown>, by: string): ResolvedInput {
  const at = new Date(FIRST_TURN_MS).toISOString();
  if (!Object.hasOwn(answers, id)) return { id, outcome: 'declined', by, at };
  return { id, outcome: 'answered', value: answers[id], by, at };
}

function sessionOf(
  id: string,
  questions: QueryPart[][],
  olderTurns: number,
): NonNullable<QueryContext['session']> {
  return {
    id,
    olderTurns,
    file: async (sha256) => {
      const found = questions.flat().findLast((part) => part.type === 'file' && part.sha256 === sha256);
      if (found?.type === 'file') return found.file;
      throw new QueryError('not_found', 'No turn of the session has a file with this digest.');
    },
  };
}

function turnOf(
  { answer = '', end = { status: 'completed' } }: TurnInput,
  parts: QueryPart[],
  index: number,
): Turn {
  const createdAt = FIRST_TURN_MS + index * MINUTE_MS;
  return {
    runId: `turn-${index + 1}`,
    parts: parts.map((part) => {
      if (part.type === 'text') return part;
      const { name, mimeType, sha256, file } = part;
      return { type: 'file', name, mimeType, size: file.size, sha256 };
    }),
    ...answerOf(answer),
    end,
    createdAt: new Date(createdAt).toISOString(),
    endedAt: new Date(createdAt + MINUTE_MS / 2).toISOString(),
  };
}

function answerOf(answer: string | Envelope[]): TurnAnswer {
  const kept = new KeptAnswer();
  const envelopes =
    typeof answer === 'string' ? [answer].filter(Boolean).map((text) => message(text)) : answer;
  for (const envelope of envelopes) kept.add(envelope, JSON.stringify(envelope));
  return kept.value;
}
