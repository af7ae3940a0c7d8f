import { Command, Option } from 'commander';
import { FLAGS, type Flag } from '../config/flags.js';

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
 * @param name how the help calls the program that has this command alone
 */
export function serveCommand(name = 'serve'): Command {
  const command = new Command(name)
    .summary('Start the service.')
    .description('Start the service: POST /query in front of an agent.')
    .argument('[agent]', 'who answers');
  for (const flag of FLAGS) command.addOption(optionOf(flag));
  return command
    .addHelpText('after', AFTER_HELP)
    .action((agent: string | undefined) =>
      serve({ ...process.env, ...variablesOf(command), ...(agent !== undefined && { AGENT: agent }) }),
    );
}

function optionOf({ name, argument, summary, group }: Flag): Option {
  return new Option(argument === '' ? name : `${name} <${argument}>`, summary).helpGroup(group);
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
  const { start } = await import('../start.js');
  await start(variables);
}
