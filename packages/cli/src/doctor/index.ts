import { Command } from 'commander';
import { examine, jsonOfReport } from 'nest-agent-query-doctor';
import { StatusLine } from '../status-line.js';
import { wholeNumber } from '../whole-number.js';
import { type Look, textOfReport } from './report-text.js';
import { targetOf } from './target.js';

/** The options of the command, and those that hold for every command that asks a service. */
interface Options {
  url: string;
  agent?: string;
  path: string;
  key?: string;
  idle: number;
  body: number;
  json?: boolean;
}

const DEFAULT_BODY = 8 * 1024 * 1024;

/** `nest-agent-query doctor [url]` */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description('Test what is between you and a service: proxies that delay, cut, limit or change streams.')
    .argument('[url]', 'the URL of the service as its users have it (default: --url or AGENT_QUERY_URL)')
    .option('--idle <seconds>', 'how long a stream is silent, from 1 to 600', wholeNumber(1, 600), 65)
    .option('--body <bytes>', 'the largest body to send, from 1024', wholeNumber(1024, 2 ** 40), DEFAULT_BODY)
    .option('--json', 'print the report as JSON')
    .addHelpText('after', HELP)
    .action(async (url: string | undefined, _options: unknown, command: Command) => {
      process.exitCode = await doctor(url, command);
    });
}

const HELP = `
It takes as long as --idle: the default finds limits of 60 s, as most proxies have. Use --idle 130 for
Cloudflare (100 s), --idle 330 for Envoy (5 min). Use --body 350000000 for the largest file that a service takes.

Exit codes: 0 all fine, 1 a problem was found, 2 usage, 3 access was refused (401, 403), 4 no connection`;

async function doctor(given: string | undefined, command: Command): Promise<number> {
  const { url, agent, path, key, ...options } = command.optsWithGlobals<Options>();
  const target = targetOf(given ?? url, path, key, agent);
  if (target.through) process.stderr.write(`All requests go through ${target.through.name}.\n`);
  const stopProgress = showProgress(options.idle);
  const report = await examine(target, options).finally(stopProgress);
  process.stdout.write(options.json ? jsonOfReport(report) : textOfReport(report, lookOf(process.stdout)));
  return report.exitCode;
}

function lookOf(output: typeof process.stdout): Look {
  if (!output.isTTY) return { isColoured: false, width: Infinity };
  return { isColoured: output.hasColors(), width: output.columns };
}

/** On a terminal, shows how long it still takes. Returns a function that removes it. */
function showProgress(idle: number): () => void {
  const line = new StatusLine(process.stderr);
  const start = performance.now();
  const show = () => {
    const passed = Math.floor((performance.now() - start) / 1_000);
    line.show(`Testing, for ${passed} of about ${Math.max(idle, 10)} s …`);
  };
  show();
  const timer = setInterval(show, 1_000);
  return () => {
    clearInterval(timer);
    line.close();
  };
}
