import { Command } from 'commander';
import { write } from './outputs.js';
import { printableJson, printableLine } from './printable.js';
import { checked, hasTexts } from './response-form.js';
import { connect } from './service.js';

/** `nest-agent-query cancel` */
export function cancelCommand(): Command {
  return new Command('cancel')
    .summary('Cancel a run.')
    .description('Cancel a run, and wait until its handler has stopped.')
    .argument('<run>', 'the id of the run')
    .option('--json', 'print the run as a line of JSON')
    .action(async (id: string, { json }: { json?: true }, command: Command) => {
      const run = checked(await connect(command).cancel(id), (each) => hasTexts(each, ['id', 'status']));
      const state = run.status === 'cancelled' ? 'was cancelled' : `had ended before: ${run.status}`;
      const line = json ? printableJson(run) : `The run ${printableLine(run.id)} ${state}.`;
      await write(process.stdout, `${line}\n`);
    });
}
