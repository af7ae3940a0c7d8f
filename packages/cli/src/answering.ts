import type { AgentQueryClient, Answer, AnswerResult, AskOptions } from 'nest-agent-query-client';
import { saveFiles } from './answer-files.js';
import { sentencesOf } from './failures.js';
import { type Interruption, interruptible } from './interruption.js';
import type { Outputs } from './outputs.js';
import { type AnswerView, reportEnd } from './show-answer.js';
import { barOf, bytesText } from './status-line.js';

/** Sends a query. The terminal shows how far the upload has come. */
export function send(
  client: AgentQueryClient,
  text: string | undefined,
  options: AskOptions,
  outputs: Outputs,
  view: AnswerView,
): Answer {
  return client.ask(text === undefined ? [] : text, {
    ...options,
    onResume: view.resuming,
    onUpload: (sent, total) => outputs.showStatus(uploadText(sent, total)),
  });
}

function uploadText(sent: number, total?: number): string {
  if (total !== undefined && sent >= total) return 'Waiting for the answer';
  const of = total === undefined ? '' : ` of ${bytesText(total)}`;
  return `Sending ${bytesText(sent)}${of} ${barOf(sent, total)}`.trimEnd();
}

/**
 * Prints an answer until it has ended or asks, saves its files, and says how it ended.
 *
 * @param directory where files are saved; undefined: they are not
 * @returns `result` is undefined if the run asks
 * @throws {Interrupted} the run is cancelled
 */
export async function showToTheEnd(
  client: AgentQueryClient,
  answer: Answer,
  outputs: Outputs,
  view: AnswerView,
  directory: string | undefined,
): Promise<{ result: AnswerResult | undefined; exitCode: number }> {
  const result = await cancellable(answer, () => view.show(answer), outputs);
  const isSaved = !result || (await saveFiles(result, directory, client, outputs));
  return { result, exitCode: reportEnd(outputs, result, isSaved) };
}

/**
 * Does some work with an answer. What interrupts it cancels the run.
 *
 * @returns what the work returns
 * @throws {Interrupted} the run is cancelled
 */
export function cancellable<T>(answer: Answer, begin: () => Promise<T>, outputs: Outputs): Promise<T> {
  return interruptible(begin, (why, work) => cancel(answer, work, outputs, why));
}

/** Cancels the run, waits until the service says that it has stopped, and tells what came of it. */
async function cancel(
  answer: Answer,
  work: Promise<unknown>,
  outputs: Outputs,
  why: Interruption,
): Promise<void> {
  const isSignal = why === 'SIGINT' || why === 'SIGTERM';
  if (isSignal) outputs.note('Cancelling the run. Ctrl-C again exits at once.');
  try {
    const run = await answer.cancel();
    if (why === 'EPIPE') return;
    // What came until then is shown before.
    if (run && isSignal) await work.catch(() => undefined);
    if (!run) outputs.note('The query was not sent, so there is no run.');
    else if (run.status === 'cancelled') outputs.note(`The run ${run.id} was cancelled.`);
    else outputs.note(`The run ${run.id} had ended before: ${run.status}.`);
  } catch (error) {
    outputs.note(`The run could not be cancelled, and may go on. ${sentencesOf(error)}`);
  }
}
