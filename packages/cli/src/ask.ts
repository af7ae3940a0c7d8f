import { Command } from 'commander';
import { checkDirectory } from './answer-files.js';
import { cancellable, send, showToTheEnd } from './answering.js';
import { Outputs } from './outputs.js';
import { collected, entries, filesOf, textOf } from './query-input.js';
import { connect, kwargsGiven } from './service.js';
import { type SessionOptions, sessionOf } from './session-choice.js';
import { AnswerView, type ShowOptions } from './show-answer.js';
import { wholeNumber } from './whole-number.js';

interface AskCommandOptions extends ShowOptions, SessionOptions {
  file?: string[];
  afterTurn?: number;
  detach?: true;
  output?: string;
  metadata?: Record<string, string>;
}

const AFTER_HELP = `
Stdout has the answer, as it arrives. Stderr has the rest: logs, reasoning, tools, files and progress.
Ctrl-C cancels the run. A second Ctrl-C exits at once. If the run asks something, the terminal asks you; without one,
the command says how to answer, and ends with the exit code 5.

Examples:
  $ nest-agent-query ask "What is in these files?" -f report.pdf -f data.csv
  $ git diff | nest-agent-query ask "Review this change." -f -
  $ cat question.txt | nest-agent-query ask --session s1 > answer.md
  $ nest-agent-query ask --continue "And in one sentence?"
  $ nest-agent-query ask --session s1 --after-turn 2 "Ask the third question anew."
  $ nest-agent-query ask "Draw a chart." -f data.csv --output charts
  $ nest-agent-query ask "Who has signed?" -f contract.pdf --result | jq .names
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
    .option('-c, --continue', 'continue the conversation that was used last')
    .option('--after-turn <number>', 'replace the turns after this one; 0: all of them', wholeNumber(0))
    .option('-d, --detach', 'do not wait: print the id of the run, which goes on')
    .option('-o, --output <dir>', 'save the files of the answer in this directory')
    .option('-m, --metadata <key=value>', 'what the run says of the query; may be repeated', entries)
    .option('-w, --whole', 'print the answer when it is complete, not as it arrives')
    .option('--result', 'print the structured result of the run as JSON, and no text')
    .option('--json', 'print every envelope of the answer as a line of JSON')
    .addHelpText('after', AFTER_HELP)
    .configureOutput({ outputError: (text, write) => write(text + adviceOn(text)) })
    .action(ask);
}

function adviceOn(error: string): string {
  if (!error.startsWith('error: unknown option')) return '';
  return 'A text that begins with "-" needs "--" before it: nest-agent-query ask -- "-5 + 3?"\n';
}

async function ask(words: string[], options: AskCommandOptions, command: Command): Promise<void> {
  const { file: paths = [], afterTurn, detach: detached, output, metadata } = options;
  const kwargs = kwargsGiven(command);
  const client = connect(command);
  await checkDirectory(output);
  const files = await filesOf(paths);
  const text = await textOf(words, paths);
  const sessionId = await sessionOf(client, options, kwargs);
  const outputs = new Outputs();
  const view = new AnswerView(outputs, options, client);
  const query = { files, kwargs, metadata, sessionId, afterTurn, detached };
  const answer = send(client, text, query, outputs, view);
  try {
    if (detached) return await outputs.line(await cancellable(answer, () => answer.runId, outputs));
    const { result, exitCode } = await showToTheEnd(client, answer, outputs, view, output);
    if (outputs.isOnTerminal && result?.status === 'completed')
      outputs.note(`To read it again: nest-agent-query follow ${result.runId}`);
    process.exitCode = exitCode;
  } finally {
    outputs.end();
  }
}
