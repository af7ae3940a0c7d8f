import { Command } from 'commander';
import type { Answer } from 'nest-agent-query-client';
import { checkDirectory, saveFiles } from './answer-files.js';
import { type Interruption, interruptible } from './interruption.js';
import { sentencesOf, UsageError } from './failures.js';
import { Outputs } from './outputs.js';
import { filesOf, textOf } from './query-input.js';
import { connect, kwargsGiven } from './service.js';
import { AnswerView, reportEnd, type ShowOptions } from './show-answer.js';
import { barOf, bytesText } from './status-line.js';

interface AskCommandOptions extends ShowOptions {
  file?: string[];
  session?: string;
  detach?: true;
  output?: string;
}

const AFTER_HELP = `
Stdout has the answer, as it arrives. Stderr has the rest: logs, reasoning, tools, files and progress.
Ctrl-C cancels the run. A second Ctrl-C exits at once.

Examples:
  $ nest-agent-query ask "What is in these files?" -f report.pdf -f data.csv
  $ git diff | nest-agent-query ask "Review this change." -f -
  $ cat question.txt | nest-agent-query ask --session s1 > answer.md
  $ nest-agent-query ask "Draw a chart." -f data.csv --output charts
  $ nest-agent-query ask -- "-5 + 3?"
  $ nest-agent-query follow "$(nest-agent-query ask "Take your time." --detach)"
`;

/** `nest-agent-query ask`: sends a query, and prints the answer. */
export function askCommand(): Command {
  return new Command('ask')
    .summary('Send a query, and print the answer.')
    .description('Send a query, and print the answer as it arrives.')
    .argument('[text...]', 'the text; without it, or as "-": stdin')
    .option('-f, --file <path>', 'a file to send, "-" for stdin; may be repeated', collected)
    .option('-s, --session <id>', 'the conversation that the query belongs to')
    .option('-d, --detach', 'do not wait: print the id of the run, which goes on')
    .option('-o, --output <dir>', 'save the files of the answer in this directory')
    .option('-w, --whole', 'print the answer when it is complete, not as it arrives')
    .option('--json', 'print every envelope of the answer as a line of JSON')
    .addHelpText('after', AFTER_HELP)
    .configureOutput({ outputError: (text, write) => write(text + adviceOn(text)) })
    .action(ask);
}

function adviceOn(error: string): string {
  if (!error.startsWith('error: unknown option')) return '';
  return 'A text that begins with "-" needs "--" before it: nest-agent-query ask -- "-5 + 3?"\n';
}

function collected(value: string, before: string[] = []): string[] {
  return [...before, value];
}

async function ask(words: string[], options: AskCommandOptions, command: Command): Promise<void> {
  const { file: paths = [], session: sessionId, detach, output } = options;
  const kwargs = kwargsGiven(command);
  if (sessionId !== undefined && 'session_id' in kwargs)
    throw new UsageError('Both --session and session_id of --kwargs name a session. Give one of them.');
  const client = connect(command);
  await checkDirectory(output);
  const files = await filesOf(paths);
  const text = await textOf(words, paths);
  const outputs = new Outputs();
  const view = new AnswerView(outputs, options);
  const answer = client.ask(text === undefined ? [] : text, {
    files,
    kwargs,
    sessionId,
    detached: detach,
    onResume: view.resuming,
    onUpload: (sent, total) => outputs.showStatus(uploadText(sent, total)),
  });
  const stop = (why: Interruption) => cancel(answer, outputs, why);
  try {
    if (detach) return await outputs.line(await interruptible(answer.runId, stop));
    const result = await interruptible(view.show(answer), stop);
    const isSaved = await saveFiles(result, output, client, outputs);
    process.exitCode = reportEnd(outputs, result, isSaved);
  } finally {
    outputs.end();
  }
}

function uploadText(sent: number, total?: number): string {
  if (total !== undefined && sent >= total) return 'Waiting for the answer';
  const of = total === undefined ? '' : ` of ${bytesText(total)}`;
  return `Sending ${bytesText(sent)}${of} ${barOf(sent, total)}`.trimEnd();
}

/** Cancels the run, waits until the service says that it has stopped, and tells what came of it. */
async function cancel(answer: Answer, outputs: Outputs, why: Interruption): Promise<void> {
  if (why === 'SIGINT' || why === 'SIGTERM') outputs.note('Cancelling the run. Ctrl-C again exits at once.');
  try {
    const run = await answer.cancel();
    if (why === 'EPIPE') return;
    if (!run) outputs.note('The query was not sent, so there is no run.');
    else if (run.status === 'cancelled') outputs.note(`The run ${run.id} was cancelled.`);
    else outputs.note(`The run ${run.id} had ended before: ${run.status}.`);
  } catch (error) {
    outputs.note(`The run could not be cancelled, and may go on. ${sentencesOf(error)}`);
  }
}
