import { Command, Option } from 'commander';
import type { Environment } from '../config/environment.js';
import { FLAGS, type Flag } from '../config/flags.js';
import { EXIT } from './exit-codes.js';
import { missingPackages } from './service-packages.js';

const AFTER_HELP = `
The agent is files (the default), model, command or remote, or the path of a module whose default export is a
handler. Each flag sets a variable, which is its name in capitals: --max-running sets MAX_RUNNING, --database
DATABASE_URL, --queue QUEUE_URL. A flag wins over its variable. Secrets are variables only, because the list of
processes shows flags: JWT_SECRET, MODEL_API_KEY, REMOTE_HEADERS. Sizes are bytes, ms are milliseconds.

Examples:
  $ nest-agent-query serve
  $ nest-agent-query serve ./my-agent.mjs --watch --port 8080
  $ nest-agent-query serve command --command 'python3 agent.py' --database memory:
  $ MODEL_API_KEY=… nest-agent-query serve model --model-base-url http://127.0.0.1:11434/v1 --model llama3.2
`;

/**
 * `nest-agent-query serve`: the service, with a flag for each of its variables.
 *
 * @param given the arguments. Only for help, the defaults of the variables are loaded: that takes half a second
 * @param name how the help calls the program that has this command alone
 */
export async function serveCommand(given: string[], name = 'serve'): Promise<Command> {
  const command = new Command(name)
    .summary('Start the service.')
    .description('Start the service: POST /query in front of an agent.')
    .argument('[agent]', 'who answers');
  const isHelp = given.some((each) => ['help', '-h', '--help'].includes(each));
  const defaults = isHelp ? await defaultsOfVariables() : {};
  for (const flag of FLAGS) command.addOption(optionOf(flag, defaults[flag.variable]));
  return command
    .addHelpText('after', AFTER_HELP)
    .action((agent: string | undefined) =>
      serve({ ...process.env, ...variablesOf(command), ...(agent !== undefined && { AGENT: agent }) }),
    );
}

/** Nothing if a package is missing that they need. Then the service cannot start, and says so. */
async function defaultsOfVariables(): Promise<Partial<Environment>> {
  try {
    const environment = await import('../config/environment.js');
    return new environment.Environment();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return {};
    throw error;
  }
}

function optionOf({ name, argument, summary, group }: Flag, value: string | number | undefined): Option {
  const isShown = argument !== undefined && value !== undefined && value !== '';
  const option = new Option(
    argument === undefined ? name : `${name} <${argument}>`,
    isShown ? `${summary} (${value})` : summary,
  );
  return option.helpGroup(group);
}

/** The variables that flags set. */
function variablesOf(command: Command): NodeJS.ProcessEnv {
  const given = FLAGS.flatMap(({ name, variable }) => {
    const value = command.getOptionValue(new Option(name).attributeName()) as string | true | undefined;
    return value === undefined ? [] : [[variable, String(value)]];
  });
  return Object.fromEntries(given) as NodeJS.ProcessEnv;
}

async function serve(variables: NodeJS.ProcessEnv): Promise<void> {
  const missing = missingPackages(variables);
  if (missing !== undefined) {
    process.stderr.write(`nest-agent-query cannot start.\n${missing}`);
    process.exitCode = EXIT.failed;
    return;
  }
  const { start } = await import('../start.js');
  await start(variables);
}
