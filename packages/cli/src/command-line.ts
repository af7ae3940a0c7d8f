import { Command } from 'commander';
import { answerCommand } from './answer.js';
import { askCommand } from './ask.js';
import { cancelCommand } from './cancel.js';
import { chatCommand } from './chat/index.js';
import { completeCommand, completionCommand } from './completion.js';
import { deliveriesCommand } from './deliveries.js';
import { doctorCommand } from './doctor/index.js';
import { followCommand } from './follow.js';
import { inputsCommand } from './inputs.js';
import { runsCommand, sessionsCommand } from './lists.js';
import { copyCommand } from './operator/copy.js';
import type { OpenDatabase } from './operator/database.js';
import { showCommand } from './operator/history.js';
import { ownersCommand } from './operator/owners.js';
import { addServiceOptions } from './service.js';
import { eraseCommand, forkCommand, sessionCommand } from './session.js';
import { usageCommand } from './usage.js';

const AFTER_HELP = `
Examples:
  $ nest-agent-query serve ./my-agent.mjs
  $ nest-agent-query ask "What is in this file?" -f report.pdf
  $ nest-agent-query chat
  $ nest-agent-query sessions --url https://example.org --agent research

Exit codes:
    0  everything went well
    1  the run failed or was cancelled, output cannot be written, or the service cannot start
    2  the command line is wrong, or a file cannot be read
    3  the service refused the request
    4  nobody answers at the URL, or no service of this kind
    5  the run asks, and goes on when it is answered
  130  interrupted by Ctrl-C; 143: by SIGTERM

More about a command: nest-agent-query <command> --help
`;

/**
 * The command line `nest-agent-query`: its own commands ask a service and look after it. A command is a file of this folder, which
 * is added here.
 *
 * @param version what `--version` prints
 * @param ofService the commands that run a service
 * @param open opens a database for the commands that look after it. Default: there are no such commands
 *
 * @example
 * await runCommand(commandLine('0.1.0', [serveCommand()]), process.argv.slice(2));
 */
export function commandLine(version: string, ofService: Command[], open?: OpenDatabase): Command {
  const program = new Command('nest-agent-query')
    .description('Ask the service nest-agent-query, start it, and look after its runs.')
    .version(version, '-V, --version', 'show the version')
    .addHelpText('after', AFTER_HELP);
  addServiceOptions(program);
  const add = (heading: string, commands: Command[], help = {}) => {
    for (const command of commands) program.addCommand(command.helpGroup(heading).configureHelp(help));
  };
  const clients = { showGlobalOptions: true };
  const asking = [askCommand(), chatCommand(), followCommand(), answerCommand(), cancelCommand()];
  const lists = [runsCommand(open), inputsCommand(), deliveriesCommand(), sessionsCommand()];
  const sessions = [sessionCommand(), forkCommand(), eraseCommand()];
  add('Ask a service:', asking, clients);
  add('Look after it:', [...lists, ...sessions, usageCommand(), doctorCommand()], clients);
  add('Run a service:', ofService);
  if (open) add('Look after its database:', [ownersCommand(open), showCommand(open), copyCommand(open)]);
  add('This command line:', [completionCommand(), helpCommand(program)]);
  return program.addCommand(completeCommand(program), { hidden: true });
}

function helpCommand(program: Command): Command {
  return new Command('help')
    .argument('[command...]')
    .description('Show the help of a command.')
    .action(async (names: string[]) => {
      let command = program;
      for (const name of names) {
        const next = command.commands.find((each) => each.name() === name);
        // A command that has others says that it does not have this one.
        if (!next && command.commands.length > 0)
          return void (await command.parseAsync([name], { from: 'user' }));
        command = next ?? command;
      }
      command.outputHelp();
    });
}
