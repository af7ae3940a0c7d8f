import { Command } from 'commander';
import { type AgentQueryClient, AgentQueryError } from 'nest-agent-query-client';
import { checkDirectory, saveFiles } from './answer-files.js';
import { interruptible } from './interruption.js';
import { Outputs } from './outputs.js';
import { checked, hasTexts } from './response-form.js';
import { connect } from './service.js';
import { AnswerView, reportEnd, type ShowOptions } from './show-answer.js';
import { wholeNumber } from './whole-number.js';

interface FollowCommandOptions extends ShowOptions {
  after: number;
  output?: string;
}

const AFTER_HELP = `
Ctrl-C leaves the run, and does not cancel it. If the run asks something, the terminal asks you; without one, the
command says how to answer, and ends with the exit code 5.

Examples:
  $ nest-agent-query follow 89c87239-c6d2-4978-9b3d-37b421b5c015
  $ nest-agent-query follow 89c87239-c6d2-4978-9b3d-37b421b5c015 --after 7 --json
`;

/** `nest-agent-query follow`: prints the answer of a run. */
export function followCommand(): Command {
  return new Command('follow')
    .summary('Print the answer of a run.')
    .description('Print the answer of a run: what it has so far, and what comes.')
    .argument('<run>', 'the id of the run')
    .option('-a, --after <number>', 'begin after the envelope with this number', wholeNumber(0), 0)
    .option('-o, --output <dir>', 'save the files of the answer in this directory')
    .option('-w, --whole', 'print the answer when it is complete, not as it arrives')
    .option('--json', 'print every envelope of the answer as a line of JSON')
    .addHelpText('after', AFTER_HELP)
    .action(follow);
}

async function follow(runId: string, options: FollowCommandOptions, command: Command): Promise<void> {
  const client = connect(command);
  await checkDirectory(options.output);
  await showRun(client, runId, options);
}

/** Prints the answer of a run, and sets the exit code. What interrupts it leaves the run. */
export async function showRun(
  client: AgentQueryClient,
  runId: string,
  { after, output, ...options }: FollowCommandOptions,
): Promise<void> {
  const outputs = new Outputs();
  const view = new AnswerView(outputs, options, client);
  const answer = client.follow(runId, after, { onResume: view.resuming });
  const show = async () => view.show(answer, after > 0 ? await askingAt(client, runId) : undefined);
  try {
    const result = await interruptible(show, async (why) => {
      if (why !== 'EPIPE')
        outputs.note(`Left the run, which may go on. To cancel it: nest-agent-query cancel ${runId}`);
    });
    const isSaved = !result || (await saveFiles(result, output, client, outputs));
    process.exitCode = reportEnd(outputs, result, isSaved);
  } catch (error) {
    // Nothing has come, so that there may be no such run, or no service.
    if (error instanceof AgentQueryError && answer.after === after) error.runId = undefined;
    throw error;
  } finally {
    outputs.end();
  }
}

/** The number of the last envelope of a run that asks; undefined if it does not. */
async function askingAt(client: AgentQueryClient, runId: string): Promise<number | undefined> {
  const run = checked(await client.run(runId), (each) => hasTexts(each, ['id', 'status']));
  return run.status === 'input_required' ? run.events : undefined;
}
