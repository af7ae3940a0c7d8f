import { Command } from 'commander';
import { AgentQueryError } from 'nest-agent-query-client';
import { checkDirectory, saveFiles } from './answer-files.js';
import { interruptible } from './interruption.js';
import { Outputs } from './outputs.js';
import { connect } from './service.js';
import { AnswerView, reportEnd, type ShowOptions } from './show-answer.js';
import { wholeNumber } from './whole-number.js';

interface FollowCommandOptions extends ShowOptions {
  after: number;
  output?: string;
}

const AFTER_HELP = `
Ctrl-C leaves the run, and does not cancel it.

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
  const outputs = new Outputs();
  const view = new AnswerView(outputs, options);
  const answer = client.follow(runId, options.after, { onResume: view.resuming });
  try {
    const result = await interruptible(view.show(answer), async (why) => {
      if (why !== 'EPIPE')
        outputs.note(`Left the run, which may go on. To cancel it: nest-agent-query cancel ${runId}`);
    });
    const isSaved = await saveFiles(result, options.output, client, outputs);
    process.exitCode = reportEnd(outputs, result, isSaved);
  } catch (error) {
    // Nothing has come, so that there may be no such run, or no service.
    if (error instanceof AgentQueryError && answer.after === options.after) error.runId = undefined;
    throw error;
  } finally {
    outputs.end();
  }
}
