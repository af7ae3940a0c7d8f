import { Command, InvalidArgumentError, Option } from 'commander';
import { CannotCheck, checkConformance } from './check-conformance.js';
import { EDITION, type Level, LEVELS } from './promise.js';
import { PROMISES } from './promises/index.js';
import { jsonOfReport, junitOfReport } from './reports/for-programs.js';
import { textOfResult, textOfSummary } from './reports/terminal.js';
import { endpointOf } from './wire/target.js';

interface Options {
  level?: Level[];
  only?: string[];
  reporter: 'terminal' | 'json' | 'junit';
  header?: Record<string, string>;
  otherHeader?: Record<string, string>;
  wait: number;
  list?: boolean;
}

const HELP = `
Levels: ${Object.keys(LEVELS).join(', ')}.
The service must serve the agent of the suite, which follows scripts: docs/conformance.md of nest-agent-query.
It is asked to do strange things. Do not point the suite at a service that people use.

Exit codes: 0 no promise is broken, 1 a promise is broken, 2 wrong usage, or nothing could be checked`;

/** What a wrong command line, or a service that cannot be checked, has as the exit code. */
const CANNOT_CHECK = 2;

/** The command `nest-agent-query-conformance`. */
export function commandLine(): Command {
  return new Command('nest-agent-query-conformance')
    .description(`Check whether a service keeps the promises of the interface, edition ${EDITION}.`)
    .argument('[url]', 'the URL of the endpoint; /query may be left out')
    .option('--level <levels>', 'the levels to check, with commas between them (default: all)', levels)
    .option('--only <ids>', 'of these, only the promises with these ids', ids)
    .addOption(
      new Option('--reporter <name>', 'how to report')
        .choices(['terminal', 'json', 'junit'])
        .default('terminal'),
    )
    .option(
      '--header <header>',
      "what each request has, as in 'Authorization: Bearer …'; may be repeated",
      header,
    )
    .option('--other-header <header>', 'the same for a caller who is another owner', header)
    .option('--wait <seconds>', 'the longest wait for anything; longer than two keep-alives', seconds, 25)
    .option('--list', 'list the promises of the levels, and check nothing')
    .addHelpText('after', HELP)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : CANNOT_CHECK))
    .action(async (url: string | undefined, options: Options, command: Command) => {
      if (options.list) return list(options);
      if (url === undefined)
        command.error('error: give the URL of the endpoint, such as http://127.0.0.1:3000/query');
      process.exitCode = await check(url, options);
    });
}

async function check(url: string, options: Options): Promise<number> {
  const { level, only, reporter, header: headers, otherHeader: otherHeaders, wait } = options;
  const interruption = new AbortController();
  const interrupt = () => interruption.abort();
  // A second one ends the process at once.
  process.once('SIGINT', interrupt);
  // The reader of a pipe has gone.
  process.stdout.on('error', interrupt);
  const isTerminal = reporter === 'terminal';
  const isColoured = process.stdout.isTTY && process.stdout.hasColors();
  try {
    const target = {
      endpoint: endpointOf(url),
      ...(headers && { headers }),
      ...(otherHeaders && { otherHeaders }),
    };
    const report = await checkConformance(target, {
      ...(level && { levels: level }),
      ...(only && { only }),
      waitMs: wait * 1_000,
      signal: interruption.signal,
      onResult: (result) => isTerminal && process.stdout.write(textOfResult(result, isColoured)),
    });
    const last = { terminal: textOfSummary, json: jsonOfReport, junit: junitOfReport }[reporter];
    process.stdout.write(last(report));
    return report.exitCode;
  } catch (error) {
    if (!(error instanceof CannotCheck) && !(error instanceof TypeError)) throw error;
    process.stderr.write(`error: ${error.message}\n`);
    return CANNOT_CHECK;
  } finally {
    process.off('SIGINT', interrupt);
  }
}

function list({ level, only }: Options): void {
  const chosen = PROMISES.filter(
    (each) => (level?.includes(each.level) ?? true) && (only?.includes(each.id) ?? true),
  );
  for (const { id, section, sentence } of chosen) process.stdout.write(`${id}  ${sentence} (${section})\n`);
}

function levels(text: string): Level[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !Object.hasOwn(LEVELS, name));
  if (unknown !== undefined)
    throw new InvalidArgumentError(
      `"${unknown}" is no level. The levels are ${Object.keys(LEVELS).join(', ')}.`,
    );
  return names as Level[];
}

function ids(text: string): string[] {
  const given = text.split(',').map((id) => id.trim());
  const unknown = given.find((each) => !PROMISES.some(({ id }) => id === each));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`There is no promise "${unknown}". --list lists them.`);
  return given;
}

function header(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [, name, value] = /^([!#$%&'*+.^`|~\w-]+):[ \t]*([\t\u0020-\u007e\u0080-\u00ff]*)$/.exec(text) ?? [];
  if (name === undefined) throw new InvalidArgumentError("Write it like 'Authorization: Bearer …'.");
  return { ...before, [name.toLowerCase()]: value! };
}

function seconds(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= 3_600))
    throw new InvalidArgumentError('It is a number of seconds, up to 3600.');
  return value;
}
