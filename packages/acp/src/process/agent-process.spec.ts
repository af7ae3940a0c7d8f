import { randomUUID } from 'node:crypto';
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { environmentOf } from 'nest-agent-query-adapters';
import { anyRuns } from '../../../../test/support/child-processes.js';
import { eventuallyElsewhere } from '../../../../test/support/conditions.js';
import { AgentProcess, type ProcessSettings } from './agent-process.js';

const NODE = process.execPath;

/** Agents tell their pids with the notification `pids`. */
const TELL = `const tell = (...pids) => console.log(JSON.stringify({ jsonrpc: '2.0', method: 'pids', params: pids }));`;
const LIVE = `setInterval(() => undefined, 1000);`;

describe('The process of an agent', () => {
  let directory: string;
  let told: unknown[];
  let lines: string[];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'acp-process-'));
    told = [];
    lines = [];
  });

  afterEach(() => rm(directory, { recursive: true }));

  function start(settings: Partial<ProcessSettings>, cwd = directory): Promise<AgentProcess> {
    const marker = randomUUID();
    const handlers = {
      notification: (_: string, params: unknown) => void told.push(params),
      request: () => undefined,
      noise: (line: string) => void lines.push(line),
    };
    const env = environmentOf(directory, marker, {});
    const defaults = { command: NODE, directory, stopDeadlineMs: 600, lineLength: 1_000_000 };
    const log = (line: string) => void lines.push(line);
    return AgentProcess.start({ ...defaults, ...settings }, { env, cwd, marker, handlers, log });
  }

  const script = (text: string) => start({ args: ['-e', `${TELL}${text}`] });

  async function pids(count: number): Promise<number[]> {
    await eventuallyElsewhere(() => told.flat().length === count);
    return told.flat() as number[];
  }

  it('gets the variables that it is given, and none of this process', async () => {
    process.env['ACP_TEST_SECRET'] = 'secret';
    const agent = await script(`tell(...Object.keys(process.env).sort());`);
    delete process.env['ACP_TEST_SECRET'];
    await agent.exited;
    await agent.stop();
    expect((told[0] as string[]).filter((name) => name !== 'LANG')).toEqual([
      'HOME',
      'NEST_AGENT_QUERY_AGENT',
      'PATH',
      'TMPDIR',
      'XDG_CACHE_HOME',
      'XDG_CONFIG_HOME',
      'XDG_DATA_HOME',
      'XDG_STATE_HOME',
    ]);
  });

  it.each([
    ['ignores SIGTERM', `process.on('SIGTERM', () => undefined); tell(process.pid);`],
    ['has closed its output', `tell(process.pid); require('fs').closeSync(1);`],
    [
      'writes without an end',
      `tell(process.pid); setInterval(() => process.stdout.write('x'.repeat(1e6)), 1);`,
    ],
    [
      'has a child in its group, and one that has left it',
      `const { spawn } = require('child_process');
      const child = (detached) => spawn('sleep', ['1000'], { detached, stdio: 'ignore' }).pid;
      process.on('SIGTERM', () => process.exit());
      tell(process.pid, child(false), child(true));`,
    ],
  ])('is gone with all it has started when it %s', async (_, text) => {
    const agent = await script(`${text}${LIVE}`);
    await eventuallyElsewhere(() => told.length > 0);
    const all = told.flat() as number[];
    expect([all.includes(agent.pid), await readdir(join(directory, 'processes'))]).toEqual([
      true,
      [expect.stringMatching(/\.json$/)],
    ]);
    await Promise.all([agent.stop(), agent.stop()]);
    expect([await anyRuns(all), await readdir(join(directory, 'processes'))]).toEqual([false, []]);
    // Of one that writes without an end, the line that is too long may have come first.
    await expect(agent.peer.request('m', {})).rejects.toThrow();
  });

  it('is reached behind the shell that executes a command', async () => {
    await writeFile(join(directory, 'agent.cjs'), `${TELL}tell(process.pid);${LIVE}`);
    const agent = await start({ command: `"${NODE}" agent.cjs; true` });
    const [pid] = await pids(1);
    expect(pid).not.toBe(agent.pid);
    await agent.stop();
    expect(await anyRuns([pid!])).toBe(false);
  });

  it('hands over all it wrote before its end, and says how it ended', async () => {
    const agent = await script(`tell('x'.repeat(50000)); console.error('why'); process.exitCode = 3;`);
    agent.peer.pause();
    expect(await agent.exited).toEqual({ code: 3, signal: null, lastLines: ['why'] });
    agent.peer.resume();
    await agent.peer.closed;
    expect([told.flat().join('').length, lines]).toEqual([50_000, ['why']]);
    await agent.stop();
  });

  it('is closed at its end, though a child still has its output', async () => {
    const agent = await script(
      `const child = require('child_process').spawn('sleep', ['1000'], { detached: true, stdio: 'inherit' });
      tell(child.pid); setTimeout(() => process.exit(), 10);`,
    );
    const answer = agent.peer.request('m', {});
    await expect(answer).rejects.toThrow('The agent has ended.');
    await agent.stop();
    expect(await anyRuns(await pids(1))).toBe(false);
  });

  it('is not started without its folder or its program, and the error says which', async () => {
    const file = join(directory, 'file');
    await writeFile(file, '');
    await chmod(file, 0o600);
    await expect(start({}, join(directory, 'nowhere'))).rejects.toThrow(
      /^The folder ".*nowhere", .* does not exist\./,
    );
    await expect(start({}, file)).rejects.toThrow(/^The folder ".*file", .* is no folder\./);
    await expect(start({ command: 'no-such-agent', args: [] })).rejects.toMatchObject({
      code: 'ENOENT',
      message: 'There is no program "no-such-agent". Install it, or correct its name or path.',
    });
    await expect(start({ command: file, args: [] })).rejects.toThrow(
      /^The program ".*file" may not be executed\./,
    );
    expect(await readdir(join(directory, 'processes'))).toEqual([]);
  });
});
