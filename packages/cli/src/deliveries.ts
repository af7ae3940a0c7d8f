import type { Command } from 'commander';
import type { DeliveryView } from 'nest-agent-query-client';
import { type ListOptions, listCommand, printList } from './lists.js';
import { localTime } from './local-time.js';
import { checked, hasTexts, isPage } from './response-form.js';
import { connect } from './service.js';

/** `nest-agent-query deliveries RUN` */
export function deliveriesCommand(): Command {
  return listCommand('deliveries', 'List the webhooks of a run, in the order of its events.')
    .summary('List the webhooks of a run, or send one again.')
    .argument('<run>', 'the id of the run')
    .option('--send-again <id>', 'send the webhook with this id again, and list only this one')
    .action(async (runId: string, options: ListOptions & { sendAgain?: string }, command: Command) => {
      const client = connect(command);
      const { limit, sendAgain } = options;
      const fields = ['id', 'endpoint', 'event', 'status', 'createdAt'];
      const read = async (): Promise<DeliveryView[]> => {
        if (sendAgain === undefined)
          return checked(await client.deliveries(runId), (each) => isPage(each.deliveries, null, fields))
            .deliveries;
        return [checked(await client.sendAgain(runId, sendAgain), (each) => hasTexts(each, fields))];
      };
      const deliveries = await read();
      await printList<DeliveryView>(options, {
        what: 'webhooks of this run',
        // The service returns all of them at once.
        page: async () => ({
          entries: deliveries.slice(0, limit),
          next: deliveries.length > limit ? '' : null,
        }),
        headings: ['ID', 'ENDPOINT', 'EVENT', 'STATUS', 'TRIES', 'NEXT', 'ERROR'],
        row: ({ id, endpoint, event, status, tries, dueAt, error }) => [
          ...[id, endpoint, event, status, String(tries), dueAt ? localTime(dueAt) : '-', error ?? '-'],
        ],
        spare: ['TRIES', 'NEXT', 'EVENT', 'ERROR'],
      });
    });
}
