import { type InputAnswer, type InputView, QueryError } from 'nest-agent-query';
import { type ChatRequest, type Part } from './chat-request.js';
import { callIdOf } from './questions.js';

interface FoundAnswer {
  answer: InputAnswer;
  /** The JSON Pointer of its value in the body. */
  pointer: string;
}

/**
 * The answers that a message has to the newest questions of its run. Of a part only the decision and its reason, or the output, count:
 * what was asked, the log knows.
 *
 * @param inputs what the run has asked
 * @throws {QueryError} `input_resolved`: there is nothing to answer · `invalid_answer`: some answers are missing
 */
export function answersIn({ message, pointer }: ChatRequest, inputs: readonly InputView[]): FoundAnswer[] {
  const newest = inputs.filter(({ askedAt }) => askedAt === inputs.at(-1)!.askedAt);
  const found: FoundAnswer[] = [];
  const missing: InputView[] = [];
  for (const input of newest) {
    const index = message.parts.findIndex((part) => isAnswerTo(input, part));
    const part = message.parts[index];
    if (part) found.push(answerTo(input, part, `${pointer}/parts/${index}`));
    else if (!input.resolved) missing.push(input);
  }
  if (missing.length > 0) {
    const ids = missing.map(({ id }) => JSON.stringify(id)).join(' and ');
    const detail = `must answer all that the run asks, at once: it has no answer to ${ids}`;
    throw new QueryError('invalid_answer', `"${pointer}" ${detail}.`, { errors: [{ pointer, detail }] });
  }
  if (found.length > 0) return found;
  throw new QueryError(
    'input_resolved',
    'The run of this message waits for no answer. Send a message of the user, or read the stream of the chat.',
  );
}

/** The refusal of answers, with the places that they have in the body. */
export function relocatedAnswers(error: unknown, found: readonly FoundAnswer[]): unknown {
  if (!(error instanceof QueryError) || error.code !== 'invalid_answer') return error;
  const errors = (error.extras.errors ?? []).map(({ pointer, detail }) => ({
    pointer: pointer.replace(/^\/answers\/(\d+)\/value/, (_, index: string) => found[Number(index)]!.pointer),
    detail,
  }));
  const [first] = errors;
  return first ? new QueryError(error.code, `"${first.pointer}" ${first.detail}.`, { errors }) : error;
}

function isAnswerTo(input: InputView, { state, approval, toolCallId }: Part): boolean {
  if (input.kind === 'approval')
    return state === 'approval-responded' && (approval as Part | undefined)?.['id'] === input.id;
  return (state === 'output-available' || state === 'output-error') && toolCallId === callIdOf(input);
}

function answerTo({ id, kind }: InputView, part: Part, pointer: string): FoundAnswer {
  const { approved, reason } = (part['approval'] ?? {}) as Part;
  if (kind === 'approval')
    return {
      answer: { id, outcome: 'answered', value: { approved, reason } },
      pointer: `${pointer}/approval`,
    };
  const isError = part['state'] === 'output-error';
  const at = `${pointer}/${isError ? 'errorText' : 'output'}`;
  if (kind === 'tool') {
    const value = isError ? { content: part['errorText'], isError } : { content: part['output'] };
    return { answer: { id, outcome: 'answered', value }, pointer: at };
  }
  if (isError) return { answer: { id, outcome: 'declined' }, pointer: at };
  return { answer: { id, outcome: 'answered', value: kind === 'auth' ? {} : part['output'] }, pointer: at };
}
