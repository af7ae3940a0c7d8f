import { type Envelope, log, type Query, type QueryContext, type Turn } from 'nest-agent-query';
import type { AdapterSettings } from './adapter-options.js';
import type { AnsweredCall, AnswerStep } from './answer-steps.js';
import { type ModelPart, PartReader } from './model-parts.js';
import { shownTurns } from './shown-turns.js';
import { estimateTextTokens } from './text-tokens.js';

/** What a model is told in one run: the earlier turns, and the question. */
export interface Conversation {
  /** The earlier turns, oldest first. Each has an answer. */
  turns: ConversationTurn[];
  /** What the caller asks now; before it, earlier questions that were cancelled before their answer. */
  question: ModelPart[];
  /** What callers are told of it: an adapter emits these envelopes first. */
  notes: Envelope[];
}

/** An earlier turn: a question and its answer. */
export interface ConversationTurn {
  runId: string;
  /** The question. */
  parts: ModelPart[];
  /** The answer, at least one step. */
  steps: ConversationStep[];
}

/** What a model has said at once, and the tools that it has called then. */
export interface ConversationStep {
  text: string;
  /** What the model has thought before it called tools. Undefined unless `showsReasoning` is set. */
  reasoning?: string | undefined;
  /** What a model is given of the files of the answer. */
  files: ModelPart[];
  calls: AnsweredCall[];
}

/** How a conversation is read. */
export interface ConversationOptions extends Pick<
  AdapterSettings,
  'inputs' | 'textOfFile' | 'contextTokens'
> {
  /** The earlier turns. Default: all of the session. A framework with a memory of its own needs none. */
  history?: readonly Turn[];
  /** Whether the model gets the files of earlier answers. Default: it gets a text with the name of each. */
  showsAnswerFiles?: boolean;
  /** Whether the model gets its reasoning of the steps that have called tools. Default: no. */
  showsReasoning?: boolean;
}

/** What models count for the frame of a message. */
const MESSAGE_TOKENS = 4;

/** What models count for an image or a page, at most in most of them. */
const IMAGE_TOKENS = 1_500;
const BYTES_PER_TOKEN_OF_FILE = 64;

/**
 * Reads the parts of a query and its earlier turns, in a form that an adapter turns into the messages of its framework.
 *
 * A turn that failed before its answer is left out, because an endpoint that has refused it refuses each request that has it. Of a
 * turn that failed later, the texts and the calls of tools are given, and a sentence in the place of each file. A turn that was
 * cancelled before its answer is joined with what the caller asked next: some models refuse two questions without an answer
 * between them. The oldest turns are left out if all together have more than `contextTokens`.
 *
 * @throws {QueryError} `limit_exceeded`: a file is too large for a model
 *
 * @example
 * const { turns, question, notes } = await readConversation(query, context, adapterSettings(options));
 */
export async function readConversation(
  { parts }: Pick<Query, 'parts'>,
  context: QueryContext,
  options: ConversationOptions,
): Promise<Conversation> {
  const { history = context.history, inputs, textOfFile, contextTokens, showsAnswerFiles = false } = options;
  const { showsReasoning = false } = options;
  const reader = new PartReader(context, inputs, textOfFile);
  let question = await reader.read(parts);
  let rest = contextTokens - tokensOf(question);
  const turns: ConversationTurn[] = [];
  const notes: Envelope[] = [];
  // From the newest on: those that are left out are not even read, because their files take memory.
  for (const { turn, index, steps: answer, showsFiles } of shownTurns(history)) {
    const asked = await reader.read(turn.parts, showsFiles);
    const steps: ConversationStep[] = [];
    for (const { reasoning, ...step } of answer) {
      const shown = await readStep(step, reader, showsAnswerFiles && showsFiles);
      const isShown = showsReasoning && reasoning !== undefined && step.calls.length > 0;
      steps.push(isShown ? { ...shown, reasoning } : shown);
    }
    rest -= tokensOf(asked) + steps.reduce((sum, step) => sum + tokensOfStep(step), 0);
    if (rest < 0) {
      const oldest = index === 0 ? 'turn' : `${index + 1} turns`;
      notes.push(log(`The model is not shown the oldest ${oldest} of the session`));
      break;
    }
    const [next] = turns;
    if (steps.length > 0) turns.unshift({ runId: turn.runId, parts: asked, steps });
    else if (next) next.parts = [...asked, ...next.parts];
    else question = [...asked, ...question];
  }
  return { turns, question, notes };
}

async function readStep(
  { text, files, calls }: AnswerStep,
  reader: PartReader,
  showsFiles: boolean,
): Promise<ConversationStep> {
  const shown: ModelPart[] = [];
  for (const file of files) {
    const made = { type: 'text' as const, text: `[You have made the file ${JSON.stringify(file.name)}.]` };
    shown.push(showsFiles ? await reader.earlierFile(file) : made);
  }
  return { text, files: shown, calls };
}

function tokensOfStep({ text, reasoning = '', files, calls }: ConversationStep): number {
  const results = calls.length > 0 ? MESSAGE_TOKENS + estimateTextTokens(JSON.stringify(calls)) : 0;
  return tokensOf([{ type: 'text', text: reasoning + text }, ...files]) + results;
}

function tokensOf(parts: readonly ModelPart[]): number {
  return parts.reduce((sum, part) => sum + tokensOfPart(part), MESSAGE_TOKENS);
}

function tokensOfPart(part: ModelPart): number {
  if (part.type === 'text') return estimateTextTokens(part.text);
  if (part.mimeType.startsWith('image/')) return IMAGE_TOKENS;
  return Math.max(IMAGE_TOKENS, Math.ceil(part.bytes.byteLength / BYTES_PER_TOKEN_OF_FILE));
}
