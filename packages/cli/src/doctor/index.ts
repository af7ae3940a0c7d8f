import { Command } from 'commander';
import { wholeNumber } from '../whole-number.js';

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
      // All commands would start more slowly if it was loaded with the command line.
      const { doctor } = await import('./doctor.js');
      process.exitCode = await doctor(url, command);
    });
}

const HELP = `
It takes as long as --idle: the default finds limits of 60 s, as most proxies have. Use --idle 130 for
Cloudflare (100 s), --idle 330 for Envoy (5 min). Use --body 350000000 for the largest file that a service takes.

Exit codes: 0 all fine, 1 a problem was found, 2 usage, 3 access was refused (401, 403), 4 no connection`;
