import { homedir, tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import process from 'node:process';

/**
 * The variable by which processes are found that an agent has started, and that have left its process group.
 *
 * @example
 * spawn('agent', { env: { ...env, [MARKER]: marker }, detached: true });
 */
export const MARKER = 'NEST_AGENT_QUERY_AGENT';

/**
 * The environment of an agent: nothing of this process but where programs and temporary files are, and the language.
 *
 * @param marker undefined: who starts it adds the marker
 * @param env what the operator gives it besides
 *
 * @example
 * const env = environmentOf(place.home, marker, { OPENAI_API_KEY: key });
 */
export function environmentOf(
  home: string,
  marker: string | undefined,
  env: Readonly<Record<string, string>>,
): Record<string, string> {
  const { PATH = '/usr/local/bin:/usr/bin:/bin', LANG } = process.env;
  return {
    PATH,
    ...(LANG !== undefined && { LANG }),
    HOME: home,
    TMPDIR: tmpdir(),
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_DATA_HOME: join(home, '.local', 'share'),
    XDG_STATE_HOME: join(home, '.local', 'state'),
    XDG_CACHE_HOME: join(home, '.cache'),
    ...env,
    ...(marker !== undefined && { [MARKER]: marker }),
  };
}

/**
 * Where homes, folders of sessions and records of agents are kept by default: in `$XDG_STATE_HOME`, else in `~/.local/state` of the user
 * of this process.
 *
 * @param name of the kind of agents
 *
 * @example
 * const directory = options.directory ?? stateDirectory('acp');
 */
export function stateDirectory(name: string): string {
  const { XDG_STATE_HOME: state } = process.env;
  const parent = state && isAbsolute(state) ? state : join(homedir(), '.local', 'state');
  return join(parent, 'nest-agent-query', name);
}
