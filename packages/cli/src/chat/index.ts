import { Command } from 'commander';
import { checkDirectory } from '../answer-files.js';
import { UsageError } from '../failures.js';
import { collected, filesOf } from '../query-input.js';
import { connect, kwargsGiven } from '../service.js';
import { type SessionOptions, sessionOf } from '../session-choice.js';

interface ChatCommandOptions extends SessionOptions {
  file?: string[];
  output?: string;
}

const AFTER_HELP = `
Ctrl-C stops the answer that is written: its run is cancelled. At an empty prompt, Ctrl-C and Ctrl-D leave.
/help in the conversation lists what can be typed. Without a terminal, each line of stdin is a text, and the
first one that does not go well is the last.

Examples:
  $ nest-agent-query chat
  $ nest-agent-query chat --session plans --file budget.csv
  $ printf 'How many orders are there?\\nAnd how many are paid?\\n' | nest-agent-query chat --file orders.csv
`;

/** `nest-agent-query chat`: a conversation in the terminal. */
export function chatCommand(): Command {
  return new Command('chat')
    .summary('Have a conversation in the terminal.')
    .description('Have a conversation in the terminal: ask, read the answer, ask again.')
    .option('-s, --session <id>', 'the conversation to continue, or the name of a new one')
    .option('-c, --continue', 'continue the conversation that was used last')
    .option('-f, --file <path>', 'a file to send with the first text; may be repeated', collected)
    .option('-o, --output <dir>', 'save the files of the answers in this directory')
    .addHelpText('after', AFTER_HELP)
    .action(chat);
}

async function chat(options: ChatCommandOptions, command: Command): Promise<void> {
  const kwargs = kwargsGiven(command);
  const client = connect(command);
  const { file: paths = [], output } = options;
  if (paths.includes('-'))
    throw new UsageError('Stdin has the texts of the conversation. It cannot be a file.');
  await checkDirectory(output);
  const files = await filesOf(paths);
  const named = (await sessionOf(client, options, kwargs)) ?? kwargs['session_id'];
  if (named !== undefined && typeof named !== 'string')
    throw new UsageError('session_id of --kwargs must be a string.');
  // Only this command needs what shows Markdown.
  const { Conversation } = await import('./conversation.js');
  const conversation = new Conversation(client, named || crypto.randomUUID(), kwargs, output);
  conversation.attach(files);
  if (!process.stdin.isTTY) return await (await import('./lines.js')).answerLines(conversation);
  await (await import('./dialogue.js')).talk(conversation);
}
