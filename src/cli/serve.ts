import { Command, Option } from 'commander';
import { ROWS } from '../config/variables.js';

const AFTER_HELP = `
The agent is files (the default), model, command, acp or remote, or the path of a module whose default export is a
handler. Each flag sets a variable, which is its name in capitals: --max-running sets MAX_RUNNING, --database
DATABASE_URL, --queue QUEUE_URL. A flag wins over its variable. Secrets are variables only, because the list of
processes shows flags: JWT_SECRET, MODEL_API_KEY, REMOTE_HEADERS, ACP_ENV. Sizes are bytes, ms are milliseconds.

Examples:
  $ nest-agent-query serve
  $ nest-agent-query serve ./my-agent.mjs --watch --port 8080
  $ nest-agent-query serve command --command 'python3 agent.py' --database memory:
  $ MODEL_API_KEY=… nest-agent-query serve model --model-base-url http://127.0.0.1:11434/v1 --model llama3.2
`;

/**
 * The flags, in the order of the help: each sets a variable, to `true` if nothing follows it. Secrets have none, because the list
 * of processes of a machine shows flags to everybody.
 */
const FLAGS = ROWS.flatMap(([variable, { flag, argument, means, group, value }]) => {
  if (argument === undefined) return [];
  const name = flag ?? `--${variable.toLowerCase().replaceAll('_', '-')}`;
  const plain = means.replaceAll('`', '').replace(/\[(.+?)\]\(.+?\)/g, '$1');
  const isShown = argument !== '' && ![undefined, '', Infinity].includes(value as string);
  const summary = isShown ? `${plain} (${String(value)})` : plain;
  const option = new Option(argument === '' ? name : `${name} <${argument}>`, summary).helpGroup(group);
  return { variable, option };
});

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
  for (const { option } of FLAGS) command.addOption(option);
  return command
    .addHelpText('after', AFTER_HELP)
    .action((agent: string | undefined) =>
      serve({ ...process.env, ...variablesOf(command), ...(agent !== undefined && { AGENT: agent }) }),
    );
}

/** The variables that flags set. A flag that other commands have too, such as `--agent`, is one of the whole command line. */
function variablesOf(command: Command): NodeJS.ProcessEnv {
  const options = command.optsWithGlobals<Record<string, string | true | undefined>>();
  const given = FLAGS.flatMap(({ option, variable }) => {
    const value = options[option.attributeName()];
    return value === undefined ? [] : [[variable, String(value)]];
  });
  return Object.fromEntries(given) as NodeJS.ProcessEnv;
}

async function serve(variables: NodeJS.ProcessEnv): Promise<void> {
  const { start } = await import('../service/start.js');
  await start(variables);
}
