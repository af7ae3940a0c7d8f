import { type Caller, FULL, JSON_TYPE } from '../caller.js';
import type { Envelope, Question } from '../script.js';
import { equal, NotChecked } from '../unmet.js';
import type { Reply } from '../wire/reply.js';

/** A request of a run, as lists have it. */
export interface Input {
  id: string;
  runId: string;
  expiresAt: string;
  resolved: { outcome: string; value?: unknown } | null;
  [member: string]: unknown;
}

/** A run whose agent asks. */
export async function asking(caller: Caller, questions: Question[], kwargs: Record<string, unknown> = {}) {
  const reply = await caller.ask([{ ask: questions }], { headers: FULL, kwargs });
  const isAsked = ({ type }: Envelope) => type === 'input_required';
  const envelopes = () => reply.reading('full').frames.map(({ envelope }) => envelope);
  await reply.until(() => reply.hasEnded || envelopes().some(isAsked), 'an envelope input_required');
  const [first] = envelopes();
  if (first?.type === 'done')
    throw new NotChecked('the agent has no step "ask", or its service has a store that keeps no questions');
  equal('the type of the first envelope', first?.type, 'input_required');
  const { requests } = first!.data as { requests: Input[] };
  return { reply, runPath: caller.runPath(reply), requests };
}

/** Answers what a run asks. */
export function answer(
  caller: Caller,
  runPath: string,
  answers: unknown[],
  headers: object = JSON_TYPE,
): Promise<Reply> {
  return caller.send({
    path: `${runPath}/inputs`,
    headers: { ...headers },
    body: JSON.stringify({ answers }),
  });
}

/** Answers, which must be accepted. */
export async function accepted(caller: Caller, runPath: string, answers: unknown[]): Promise<void> {
  const reply = await answer(caller, runPath, answers);
  equal('the status of the answers', reply.status, 200);
  await reply.whole();
}

/** The requests of a run, as it lists them. */
export async function inputsOf(caller: Caller, runPath: string): Promise<Input[]> {
  return (await caller.json<{ inputs: Input[] }>(`${runPath}/inputs`)).inputs;
}

/** How requests were resolved, without who has answered and when. */
export function outcomesOf({ data }: Envelope) {
  const { answers } = data as { answers: Record<string, unknown>[] };
  return answers.map(({ by: _by, at: _at, ...outcome }) => outcome);
}

/** What the agent emits after its step `ask`: what it was answered. */
export function heard(envelope: Envelope | undefined): unknown {
  const { content } = (envelope?.data ?? {}) as { content?: string };
  return JSON.parse(content ?? 'null');
}

/** The end of a run. */
export function done(status: string): Envelope {
  return { type: 'done', data: { status } };
}
