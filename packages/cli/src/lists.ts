import { Command, Option } from 'commander';
import type { RunListOptions, RunView, SessionView } from 'nest-agent-query-client';
import type { OpenDatabase } from './operator/database.js';
import { type HistoryOptions, historyOptions, isOfDatabase, printHistory } from './operator/history.js';
import { localTime } from './local-time.js';
import { write } from './outputs.js';
import { printableJson } from './printable.js';
import { entries } from './query-input.js';
import { checked, isPage } from './response-form.js';
import { connect } from './service.js';
import { tableOf } from './table.js';
import { wholeNumber } from './whole-number.js';

const STATUSES = ['waiting', 'running', 'input_required', 'completed', 'failed', 'cancelled'];
const DEFAULT_LIMIT = 50;
/** The most entries that a page of the service has. */
const PAGE = 500;

/** The options of a command that prints a list. */
export interface ListOptions {
  json?: true;
  limit: number;
}

/** A list of the service, and how people see it. */
interface List<Entry> {
  /** What the entries are, as people call them. */
  what: string;
  page: (limit: number, after: string | undefined) => Promise<{ entries: Entry[]; next: string | null }>;
  headings: string[];
  row: (entry: Entry) => string[];
  /** The columns that a narrow terminal does not show, the first one first. The last one is cut before. What is copied is none. */
  spare: string[];
}

/** `nest-agent-query runs` */
export function runsCommand(open?: OpenDatabase): Command {
  const list = listCommand('runs', 'List your runs, newest first.');
  if (open) for (const option of historyOptions()) list.addOption(option);
  return list
    .option('-s, --session <id>', 'only the runs of this session')
    .option('-m, --metadata <key=value>', 'only runs with this metadata; may be repeated', entries)
    .addOption(new Option('--status <status>', 'only runs with this status').choices(STATUSES))
    .action(
      async (
        options: HistoryOptions & Pick<RunListOptions, 'session' | 'status' | 'metadata'>,
        command: Command,
      ) => {
        if (open && isOfDatabase(options)) return printHistory(open, options);
        const { session, status, metadata } = options;
        const client = connect(command);
        await printList<RunView>(options, {
          what: 'runs',
          page: async (limit, after) => {
            const list = await client.runs({ session, status, metadata, limit, after });
            const { runs: entries, next } = checked(list, (each) =>
              isPage(each.runs, each.next, ['id', 'status']),
            );
            return { entries, next };
          },
          headings: ['RUN', 'STATUS', 'CREATED', 'TOOK', 'EVENTS', 'SESSION'],
          row: ({ id, status, createdAt, startedAt, endedAt, events, session }) => [
            ...[id, status, localTime(createdAt), durationText(startedAt, endedAt)],
            ...[String(events), session ?? '-'],
          ],
          spare: ['EVENTS', 'TOOK', 'CREATED', 'STATUS'],
        });
      },
    );
}

/** `nest-agent-query sessions` */
export function sessionsCommand(): Command {
  return listCommand('sessions', 'List your sessions, last used first.').action(
    async (options: ListOptions, command: Command) => {
      const client = connect(command);
      await printList<SessionView>(options, {
        what: 'sessions',
        page: async (limit, after) => {
          const list = await client.sessions({ limit, after });
          const { sessions: entries, next } = checked(list, (each) =>
            isPage(each.sessions, each.next, ['id']),
          );
          return { entries, next };
        },
        headings: ['SESSION', 'TURNS', 'LAST USED', 'STATE', 'TITLE'],
        row: ({ id, turns, updatedAt, active, asking, title }) => [
          ...[id, String(turns), localTime(updatedAt)],
          ...[active ? 'running' : asking ? 'asks' : '-', title ?? '-'],
        ],
        spare: ['STATE', 'TURNS', 'LAST USED', 'TITLE'],
      });
    },
  );
}

/** A command that prints a list, without its action. */
export function listCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .option('-n, --limit <number>', 'how many at most', wholeNumber(1), DEFAULT_LIMIT)
    .option('--json', 'print each as a line of JSON');
}

/** Prints as many entries of a list as the options ask for. */
export async function printList<Entry>({ limit, json }: ListOptions, list: List<Entry>): Promise<void> {
  const entries: Entry[] = [];
  let next: string | null | undefined;
  do {
    const page = await list.page(Math.min(PAGE, limit - entries.length), next ?? undefined);
    entries.push(...page.entries);
    next = page.next;
  } while (next !== null && entries.length < limit);
  if (json) await write(process.stdout, entries.map((entry) => `${printableJson(entry)}\n`).join(''));
  else if (entries.length === 0) process.stderr.write(`There are no ${list.what}.\n`);
  else {
    const rows = entries.map(list.row);
    await write(process.stdout, tableOf(list.headings, rows, widthOf(process.stdout), list.spare));
  }
  if (next !== null) process.stderr.write(`There are more. To see them: --limit ${limit * 10}\n`);
}

/** Only a terminal has a width. */
function widthOf(stream: NodeJS.WriteStream): number {
  return stream.isTTY ? stream.columns || 80 : Infinity;
}

function durationText(from: string | null, to: string | null): string {
  if (from === null || to === null) return '-';
  const ms = Date.parse(to) - Date.parse(from);
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
}
