import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

/** The variable by which processes are found that an agent has started, and that have left its process group. */
export const MARKER = 'NEST_AGENT_QUERY_AGENT';

/**
 * The environment of an agent: nothing of this process but where programs and temporary files are, and the language.
 *
 * @param env what the operator gives it besides
 */
export function environmentOf(
  home: string,
  marker: string,
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
    [MARKER]: marker,
  };
}
