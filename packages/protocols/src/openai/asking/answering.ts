import { type InputView, QueryError } from 'nest-agent-query';
import { type Reading, readLog } from '../../view/read-log.js';
import type { Endpoint } from 'nest-agent-query/protocol';
import { EventForm } from '../../view/event-form.js';
import { invalidRequest } from '../refusals.js';
import { askedBy, type GivenAnswer, inputAnswer } from './asked-calls.js';

/** The run that goes on, and the leg that begins with the answers. */
export interface Answered {
  runId: string;
  leg: number;
}

/**
 * Answers what a run asks. A client answers all of it at once, as OpenAI wants it.
 *
 * @param given at least one
 * @param detached whether the run goes on although nobody follows it
 * @throws {QueryError} `invalid_query` · `not_found` · the errors of `Inputs.answer`
 */
export async function answerRun(
  { agent }: Endpoint,
  owner: string,
  given: GivenAnswer[],
  { detached, response }: { detached: boolean } & Pick<Reading, 'response'>,
): Promise<Answered> {
  const { runId } = askedBy(given[0]!);
  await agent.find(owner, runId);
  const { inputs } = await agent.inputs.of(owner, runId);
  const last = ofLastPause(given.map((each) => ({ each, input: requestOf(inputs, runId, each) })));
  const { askedAt } = last[0]!.input;
  const left = inputs.find(
    ({ id, resolved, askedAt: at }) =>
      !resolved && at === askedAt && !last.some(({ input }) => input.id === id),
  );
  if (left) {
    const name = JSON.stringify(left.name ?? left.id);
    throw invalidRequest(
      last[0]!.each.pointer,
      `answers not all that is asked: the answer for ${name} is missing`,
    );
  }
  const answers = last.map(({ each, input }) => inputAnswer(input, each));
  const { before = 0 } = await agent.inputs
    .answer(owner, runId, answers, { detached })
    .catch((error: unknown) =>
      throwAt(
        error,
        last.map(({ each }) => each),
      ),
    );
  const legs = new Legs(before);
  await readLog(agent.follow(owner, runId, 0), legs, { response, until: before });
  return { runId, leg: legs.legs };
}

interface Answering {
  each: GivenAnswer;
  input: InputView;
}

/**
 * The answers to the newest of what is answered. What a pause asks is asked at the same time; clients send the answers to earlier
 * ones again, often shortened.
 */
function ofLastPause(all: Answering[]): Answering[] {
  const newest = all
    .map(({ input }) => input.askedAt)
    .toSorted()
    .at(-1);
  const last = all.filter(({ input }) => input.askedAt === newest);
  const ids = new Set<string>();
  for (const { each, input } of last) {
    if (ids.has(input.id)) throw invalidRequest(each.pointer, 'is the id of a call that is answered twice');
    ids.add(input.id);
  }
  return last;
}

function requestOf(inputs: InputView[], runId: string, given: GivenAnswer): InputView {
  const { runId: of, requestId } = askedBy(given);
  const input = of === runId ? inputs.find(({ id }) => id === requestId) : undefined;
  if (!input) throw invalidRequest(given.pointer, 'is the id of no call that the run asks for');
  if ((input.kind === 'approval') !== (given.approval !== undefined) && given.approval !== undefined)
    throw invalidRequest(given.pointer, 'is the id of a call, and no approval');
  return input;
}

/** Throws a refusal of answers with the faults where the body has them. */
function throwAt(error: unknown, given: GivenAnswer[]): never {
  const [fault] = (error instanceof QueryError && error.extras.errors) || [];
  if (!fault) throw error;
  const [, , index] = fault.pointer.split('/');
  throw invalidRequest(
    given[Number(index)]?.pointer ?? '',
    `is answered with what is not valid: it ${fault.detail}`,
  );
}

/** Counts the legs that a log has up to an envelope. */
class Legs extends EventForm {
  legs = 1;

  constructor(private readonly last: number) {
    super();
  }

  protected override read(line: string, seq: number): void {
    if (seq <= this.last && line.startsWith('{"type":"input_required"')) this.legs++;
  }
}
