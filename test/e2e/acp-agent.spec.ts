import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promise } from '../promises.js';
import { anyRuns } from '../support/child-processes.js';
import { ask } from '../support/client.js';
import { ROOT } from '../support/documents.js';
import { refusalOf, serve, type SharedService } from '../support/service.js';

const SCRIPTED = `${process.execPath} ${join(ROOT, 'packages/acp/test/agent.mjs')}`;

describe('The agent acp', () => {
  let directory: string;
  let service: SharedService | undefined;

  beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'acp-agent-'))));

  afterEach(async () => {
    await service?.stop();
    service = undefined;
    await rm(directory, { recursive: true });
  });

  const variables = () => ({ AGENT: 'acp', ACP_DIRECTORY: join(directory, 'state') });

  async function textOf(path: string, text: string): Promise<string> {
    return (await ask(`${service!.url}${path}`, text)).whole();
  }

  it(promise('service.acp', 'several agents, each with its own variables'), async () => {
    service = await serve({
      ACP_DIRECTORY: join(directory, 'state'),
      AGENTS: 'code=acp,review=acp,say=echo',
      ACP_COMMAND: SCRIPTED,
      CODE__ACP_ENV: 'OF_CODE=1',
      REVIEW__ACP_COMMAND: `OF_REVIEW=1 ${SCRIPTED}`,
    });
    const told = await Promise.all(['/code', '/review'].map((path) => textOf(path, 'DO tell environment')));
    expect(told).toEqual([expect.stringContaining('OF_CODE'), expect.stringContaining('OF_REVIEW')]);
    expect(await textOf('/say', 'Hello')).toContain('Hello');
  });

  it(promise('service.acp-environment'), async () => {
    const secrets = { JWT_SECRET: 's'.repeat(40), UNNAMED: 'unnamed', PASSED: 'passed' };
    service = await serve({
      ...variables(),
      ...secrets,
      ACP_COMMAND: `env > ${join(directory, 'environment')}; ${SCRIPTED}`,
      ACP_ENV: 'PASSED,SET=with=signs',
    });
    const lines = (await readFile(join(directory, 'environment'), 'utf8')).trim().split('\n');
    expect(lines).toEqual(expect.arrayContaining(['PASSED=passed', 'SET=with=signs']));
    const names = lines.map((line) => line.split('=')[0]);
    const allowed =
      /^(?:PATH|LANG|HOME|TMPDIR|XDG_\w+_HOME|PWD|OLDPWD|SHLVL|_|PASSED|SET|NEST_AGENT_QUERY_AGENT)$/;
    expect(names.filter((name) => !allowed.test(name!))).toEqual([]);
    expect(service.output()).not.toContain('with=signs');
  });

  it.each([
    [
      'is missing',
      'no-such-agent acp',
      /There is no program "no-such-agent"\. Install it, or correct its name or path\.\n$/,
    ],
    ['cannot be executed', '/etc/passwd', /It printed: .*\/etc\/passwd: Permission denied/],
    [
      'ends at once',
      `echo Sign in first >&2; exit 3`,
      /before it had answered "initialize".*It printed: Sign in first\n$/,
    ],
    ['prints something else', 'echo Hello; sleep 0.1', /It printed: no JSON-RPC: Hello\n$/],
    ['is not understood', 'opencode "acp', /executed\. The shell does not understand it: /],
  ])(promise('service.acp-start', 'a command that %s'), async (_, ACP_COMMAND, sentence) => {
    const { message } = await refusalOf({ ...variables(), ACP_COMMAND });
    expect(message).toMatch(/^nest-agent-query cannot start\.\nACP_COMMAND cannot be executed\. /);
    expect(message).toMatch(sentence);
  });

  it(promise('service.acp-start', 'what it has started is ended'), async () => {
    const pid = join(directory, 'pid');
    const ACP_COMMAND = `sleep 1000 & echo $! > ${pid}; echo Hello`;
    await refusalOf({ ...variables(), ACP_COMMAND });
    expect(await anyRuns([Number(await readFile(pid, 'utf8'))])).toBe(false);
  });

  it(promise('service.acp-start', 'of one of several agents'), async () => {
    const { message } = await refusalOf({ AGENTS: 'a=echo,code=acp', CODE__ACP_COMMAND: 'nowhere acp' });
    expect(message).toContain(
      'ACP_COMMAND of the agent "code" cannot be executed. There is no program "nowhere". ' +
        'Install it, or correct its name or path.',
    );
  });
});
