import { isDeepStrictEqual } from 'node:util';
import type { Question, ResolvedInput } from 'nest-agent-query';
import type { GraphMessage } from './answer-reader.js';
import type { GraphInterrupt } from './graph-options.js';
import { type Review, reviewsOf } from './reviews.js';

/** A question whose key is not known yet. */
type Unnamed = Omit<Question, 'key'>;

/** What one `interrupt()` asks, and what it returns for the answers. */
interface Asked {
  questions: Unnamed[];
  valueOf(answers: ResolvedInput[]): unknown;
}

/** What callers are asked for the interrupts of a graph, and how the graph goes on. */
export interface GraphQuestions {
  questions: Question[];
  /**
   * What interrupts return, by their ids.
   *
   * @param answers in the order of the questions
   */
  resume: (answers: ResolvedInput[]) => Record<string, unknown>;
}

/**
 * Makes questions of interrupts. The key of a question is the id of its interrupt, with an index if there are several with it.
 *
 * @param messages of the graph: the newest answer of a model has the calls that are to be approved
 * @param refused gets each sentence with which a call is refused
 */
export function questionsOf(
  interrupts: readonly GraphInterrupt[],
  messages: readonly GraphMessage[],
  refused: (reason: string) => void,
): GraphQuestions {
  const calls = [...(messages.findLast((message) => message.getType() === 'ai')?.tool_calls ?? [])];
  const byId = new Map<string, Asked[]>();
  for (const { id, ...interrupt } of interrupts)
    byId.set(id, [...(byId.get(id) ?? []), askedBy(interrupt, calls, refused)]);
  const questions = [...byId].flatMap(([id, asked]) => {
    const unnamed = asked.flatMap((each) => each.questions);
    const keyOf = (index: number) => (unnamed.length === 1 ? id : `${id}:${index}`);
    return unnamed.map((question, index) => ({ key: keyOf(index), ...question }));
  });
  return { questions, resume: (answers) => valuesOf(byId, [...answers]) };
}

function valuesOf(byId: Map<string, Asked[]>, answers: ResolvedInput[]): Record<string, unknown> {
  return Object.fromEntries(
    [...byId].map(([id, asked]) => {
      const values = asked.map((each) => each.valueOf(answers.splice(0, each.questions.length)));
      // LangGraph has one place for an id.
      return [id, values.length === 1 ? values[0] : values];
    }),
  );
}

function askedBy(
  interrupt: Omit<GraphInterrupt, 'id'>,
  calls: NonNullable<GraphMessage['tool_calls']>,
  refused: (reason: string) => void,
): Asked {
  const reviews = reviewsOf(interrupt.value);
  if (!reviews) return inputOf(interrupt);
  return {
    questions: reviews.map((review) => approvalOf(review, calls)),
    valueOf: (answers) => ({
      decisions: reviews.map((review, index) => review.decide(answers[index]!, refused)),
    }),
  };
}

/** The question about a call. Reviews do not name it: of equal calls, each gets one. */
function approvalOf(
  { name, args, description, isEditable }: Review,
  calls: NonNullable<GraphMessage['tool_calls']>,
): Unnamed {
  const at = calls.findIndex((call) => call.name === name && isDeepStrictEqual(call.args, args));
  const [call] = at === -1 ? [] : calls.splice(at, 1);
  return {
    kind: 'approval',
    message: description ?? `May the agent call the tool ${JSON.stringify(name)}?`,
    ...(call?.id !== undefined && { toolCallId: call.id }),
    name,
    arguments: args,
    editable: isEditable,
  };
}

/** The question of a node. Its value may be anything: a text is answered with a text, and anything else with anything. */
function inputOf({ value = null, response_schema: responseSchema }: Omit<GraphInterrupt, 'id'>): Asked {
  const { message, schema = true } = (value ?? {}) as { message?: unknown; schema?: unknown };
  const found = responseSchema ?? (isSchema(schema) ? schema : true);
  const text = [value, message].find((each) => typeof each === 'string');
  const isText = typeof value === 'string' && responseSchema === undefined;
  return {
    questions: [{ kind: 'input', message: text ?? JSON.stringify(value), ...(!isText && { schema: found }) }],
    valueOf: ([answer]) => answer!.value ?? null,
  };
}

function isSchema(value: unknown): value is Record<string, unknown> | boolean {
  return typeof value === 'boolean' || (typeof value === 'object' && value !== null && !Array.isArray(value));
}
