import { type Command, Option } from 'commander';
import type { UsageSum } from 'nest-agent-query-client';
import { listCommand, type ListOptions, printList } from './lists.js';
import { checked, isPage } from './response-form.js';
import { connect } from './service.js';

const GROUPS = ['day', 'model', 'session'] as const;

interface UsageOptions extends ListOptions {
  by: (typeof GROUPS)[number];
  from?: string;
  to?: string;
  session?: string;
}

/** `nest-agent-query usage` */
export function usageCommand(): Command {
  return listCommand('usage', 'Add up the tokens that you have used, last used first.')
    .addOption(new Option('--by <what>', 'what is added up').choices(GROUPS).default('day'))
    .option('--from <day>', 'the first day, such as 2026-11-01; by default the first of the month')
    .option('--to <day>', 'the last day; by default today')
    .option('-s, --session <id>', 'only the usage of this session')
    .action(async ({ by, from, to, session, ...options }: UsageOptions, command: Command) => {
      const client = connect(command);
      await printList<UsageSum>(options, {
        what: 'usages',
        page: async (limit, after) => {
          const list = await client.usage({ by, from, to, session, limit, after });
          const { usage: entries, next } = checked(list, (each) => isPage(each.usage, each.next, []));
          return { entries, next };
        },
        headings: [by.toUpperCase(), 'RUNS', 'INPUT', 'OUTPUT', 'REASONING', 'CACHED', 'PRICE'],
        row: (sum) => [
          sum[by] ?? '-',
          ...[sum.runs, sum.inputTokens, sum.outputTokens].map(String),
          ...[sum.reasoningTokens, sum.cachedInputTokens, sum.price ?? '-'].map(String),
        ],
        spare: ['CACHED', 'REASONING', 'RUNS', 'PRICE'],
      });
    });
}
