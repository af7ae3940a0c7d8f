import type { InputAnswer, Question, ResolvedInput } from '../../src/index.js';
import { ask, type Body, FULL, get, request, type Reply } from './client.js';
import type { Host } from './host.js';
import type { Call, ScriptedAgent } from './scripted-agent.js';

/** The question of most tests. */
export const REFUND: Question = {
  key: 'refund-881',
  kind: 'approval',
  message: 'Refund 120 EUR to customer 881?',
  toolCallId: 'call_9',
  name: 'refund',
  arguments: { customer: 881, amount: 120 },
  editable: true,
};

/** A question that a string answers. */
export const quarter = (more: Partial<Question> = {}): Question => {
  return { key: 'quarter', kind: 'input', message: 'Which quarter?', ...more };
};

export const answered = (id: string, value: unknown): InputAnswer => ({ id, outcome: 'answered', value });
export const declined = (id: string): InputAnswer => ({ id, outcome: 'declined' });

/** The answer to `REFUND`. */
export const YES = answered('refund-881', { approved: true });

/** A run that asks. */
export interface AskingRun {
  runId: string;
  /** The stream of the query, in the full profile. */
  asked: Reply;
  call: Call;
  /** What `ask` returns to the handler. */
  answers: Promise<ResolvedInput[]>;
}

/** Sends a query, lets its handler ask, and waits until the run does. */
export async function askingRun(
  { url }: Host,
  agent: ScriptedAgent,
  questions: Question[] = [REFUND],
  { text = 'Hi', session, headers }: { text?: string; session?: string; headers?: object } = {},
): Promise<AskingRun> {
  const options = { headers: { ...FULL, ...headers }, kwargs: { session_id: session } };
  const asked = await ask(url, text, options);
  const call = await agent.callFor(text);
  const answers = asks(call, questions);
  await asked.until('"input_required"');
  return { runId: asked.runId, asked, call, answers };
}

/** Lets a handler ask. What it gets may be a rejection that no test waits for. */
export function asks(
  { context }: Call,
  ...asked: Parameters<Call['context']['ask']>
): Promise<ResolvedInput[]> {
  const answers = context.ask(...asked);
  answers.catch(() => undefined);
  return answers;
}

/** Lets a run end that was answered. */
export async function finish({ answers, call, asked }: AskingRun): Promise<string> {
  await answers;
  call.finish();
  return asked.whole();
}

/** Sends a body to the requests of a run. */
export function postInputs(base: string, runId: string, body: Body, headers: object = {}): Promise<Reply> {
  return request(base, { path: `/query/${runId}/inputs`, headers: { ...headers } }, body);
}

/** Answers requests of a run. */
export function answer(
  base: string,
  runId: string,
  answers: InputAnswer[],
  headers: object = {},
): Promise<Reply> {
  return postInputs(base, runId, JSON.stringify({ answers }), headers);
}

/** The JSON at a path. */
export async function jsonAt<T = Record<string, unknown>>(
  base: string,
  path: string,
  headers: object = {},
): Promise<T> {
  return (await get(base, path, { ...headers })).json<T>();
}

/** A text with `<time>` in the place of each time. */
export function withoutTimes(text: string): string {
  return text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>');
}
