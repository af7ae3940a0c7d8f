import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { AgentQueryError } from 'nest-agent-query-client';
import {
  type InputAnswer,
  type InputRequest,
  type QueryContext,
  type Question,
  QUESTION_MEMBERS,
  type ResolvedInput,
} from '../../query/index.js';
import { askedWrongly, notAnswered } from './failures.js';
import type { RemoteService } from './remote-service.js';
import { repeated } from './repeated.js';

/** A run may ask for so long (30 days). */
const LONGEST_MS = 30 * 24 * 3_600_000;

/** A remote run that asks: what it asks, and where the answers go. */
export interface RemoteInputs {
  service: RemoteService;
  runId: string;
  /** The number of the envelope that asks. */
  seq: number;
  headers: OutgoingHttpHeaders;
}

/**
 * Asks what a remote run asks, under the same ids.
 *
 * @param data of its envelope `input_required`
 * @param position before that envelope, for the checkpoint: the next attempt reads it again
 * @returns the answers for the remote run. A request that has expired here expires there by itself
 * @throws {QueryError} `invalid_envelope`: the data are not valid · what else `context.ask` throws
 *
 * @example
 * const answers = await askHere(context, { requests }, { run: 'r1', seq: 4 });
 */
export async function askHere(
  context: QueryContext,
  data: unknown,
  position: unknown,
): Promise<InputAnswer[]> {
  const { requests } = (data ?? {}) as { requests?: InputRequest[] };
  if (!Array.isArray(requests) || !requests.every((each) => typeof each === 'object' && each !== null))
    throw askedWrongly('It named no requests.');
  try {
    const answers = await context.ask(requests.map(questionOf), { checkpoint: position });
    return answers
      .filter(isAnswer)
      .map(({ id, outcome, value }) => ({ id, outcome, ...(value !== undefined && { value }) }));
  } catch (error) {
    throw error instanceof TypeError || error instanceof RangeError
      ? askedWrongly(error.message, error)
      : error;
  }
}

/**
 * Answers a remote run.
 *
 * @returns the response that goes on; undefined if the run needs none of these answers any more
 * @throws {QueryError} the remote service does not take an answer
 */
export async function answerThere(
  inputs: RemoteInputs,
  answers: InputAnswer[],
  signal: AbortSignal,
): Promise<IncomingMessage | undefined> {
  const response = await repeated(() => answerOnce(inputs, answers, signal), {
    signal,
    failureOf: notAnswered,
  });
  if (response || answers.length === 1) return response;
  // One of them was answered there: it must not keep back the others.
  let last: IncomingMessage | undefined;
  for (const answer of answers) {
    const next = await answerThere(inputs, [answer], signal);
    if (!next) continue;
    last?.destroy();
    last = next;
  }
  return last;
}

async function answerOnce(
  { service, runId, seq, headers }: RemoteInputs,
  answers: InputAnswer[],
  signal: AbortSignal,
): Promise<IncomingMessage | undefined> {
  try {
    return await service.answer(runId, seq, answers, headers, signal);
  } catch (error) {
    if (error instanceof AgentQueryError && error.status === 409) return undefined;
    throw error;
  }
}

function questionOf(request: InputRequest): Question {
  const expiresInMs = Math.min(Math.max(Date.parse(request.expiresAt) - Date.now(), 1), LONGEST_MS);
  // A newer service may have further members.
  const asked = Object.entries(request).filter(([name]) => Object.hasOwn(QUESTION_MEMBERS, name));
  return { ...Object.fromEntries(asked), key: request.id, expiresInMs } as Question;
}

function isAnswer(input: ResolvedInput): input is ResolvedInput & InputAnswer {
  return input.outcome === 'answered' || input.outcome === 'declined';
}
