import type { Command } from 'commander';
import type { AgentQueryClient, InputView } from 'nest-agent-query-client';
import { inputsOf } from './asking/pause.js';
import { type ListOptions, listCommand, printList } from './lists.js';
import { localTime } from './local-time.js';
import { checked, isPage } from './response-form.js';
import { connect } from './service.js';

/** `nest-agent-query inputs [RUN]` */
export function inputsCommand(): Command {
  return listCommand('inputs', 'List what your runs ask, newest first; or all that one run has asked.')
    .summary('List what your runs ask.')
    .argument(
      '[run]',
      'the id of a run; its requests are listed in their order, also those that are resolved',
    )
    .action(async (runId: string | undefined, options: ListOptions, command: Command) => {
      const client = connect(command);
      await printList<InputView>(options, {
        what: runId === undefined ? 'open requests' : 'requests of this run',
        page: (limit, after) =>
          runId === undefined ? openPage(client, limit, after) : wholeOf(client, runId, limit),
        headings: ['RUN', 'ID', 'KIND', 'STATE', 'EXPIRES', 'MESSAGE'],
        row: ({ runId: of, id, kind, resolved, expiresAt, message }) => [
          ...[of, id, kind, resolved?.outcome ?? 'open', localTime(expiresAt), message],
        ],
        spare: ['STATE', 'KIND', 'EXPIRES', 'MESSAGE'],
      });
    });
}

type Page = Promise<{ entries: InputView[]; next: string | null }>;

async function openPage(client: AgentQueryClient, limit: number, after: string | undefined): Page {
  const list = checked(await client.openInputs({ limit, after }), ({ inputs, next }) =>
    isPage(inputs, next, ['runId', 'id', 'kind', 'message']),
  );
  return { entries: list.inputs, next: list.next };
}

/** The service returns all requests of a run at once. */
async function wholeOf(client: AgentQueryClient, runId: string, limit: number): Page {
  const inputs = await inputsOf(client, runId);
  return { entries: inputs.slice(0, limit), next: inputs.length > limit ? '' : null };
}
