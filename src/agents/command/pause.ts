import { type QueryContext, QueryError, type Question, type ResolvedInput } from '../../query/index.js';

/** What the next start of a program needs that has asked. It is the checkpoint of the run. */
export interface Pause {
  /** How often the program was started. */
  starts: number;
  /** The data of its last line `checkpoint`; null without one. */
  state: unknown;
  /** What it has asked last. */
  questions: Question[];
  /** The keys of what earlier starts have asked. */
  earlier: string[];
}

/** A request as a program writes it: its key is called `id` as in the answer, or `key`. */
type Request = Omit<Question, 'key'> & { id?: string; key?: string };

/** What the run has asked in an earlier attempt; undefined if it has asked nothing. */
export function pauseOf({ resumed }: Pick<QueryContext, 'resumed'>): Pause | undefined {
  const state = resumed?.state as Partial<Pause> | null | undefined;
  // A host may wrap the handler, and have checkpoints of its own.
  return Array.isArray(state?.questions) && Array.isArray(state.earlier) ? (state as Pause) : undefined;
}

/**
 * The questions of a line `input_required`. `context.ask` checks them.
 *
 * @param data of the line
 * @throws {QueryError} `invalid_envelope`
 */
export function questionsOf(data: unknown): Question[] {
  const requests = (data as { requests?: unknown } | null | undefined)?.requests;
  if (!Array.isArray(requests) || !requests.every((each) => typeof each === 'object' && each !== null))
    throw invalid('The agent asked without `data.requests`, an array of requests.');
  return requests.map(({ id, key = id, ...question }: Request) => ({ ...question, key }) as Question);
}

/**
 * Asks, and waits for the answers.
 *
 * @param survives whether the program can be started again for the answers. If not, the run ends with this process
 * @throws {QueryError} `invalid_envelope`: a question is not valid · what else `context.ask` throws
 */
export async function ask(context: QueryContext, pause: Pause, survives: boolean): Promise<ResolvedInput[]> {
  try {
    return await context.ask(pause.questions, survives ? { checkpoint: pause } : {});
  } catch (error) {
    if (!(error instanceof TypeError) && !(error instanceof RangeError)) throw error;
    throw invalid(`The agent asked something that is not valid. ${error.message}`, error);
  }
}

function invalid(detail: string, cause?: unknown): QueryError {
  return new QueryError('invalid_envelope', detail, {}, { cause });
}
