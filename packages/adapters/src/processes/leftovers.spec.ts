import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { anyRuns, deadProcess } from '../../../../test/support/child-processes.js';
import { MARKER } from './environment.js';
import { endLeftovers } from './leftovers.js';
import { processSpace, startOf } from './system.js';

// Without /proc nothing is ended, because an id alone may stand for another process.
const describeOnLinux = process.platform === 'linux' ? describe : describe.skip;

describeOnLinux('The leftovers of a killed service', () => {
  let directory: string;
  let folder: string;
  let marker: string;
  const children: ChildProcess[] = [];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'agent-leftovers-'));
    folder = join(directory, 'processes');
    await mkdir(folder);
    marker = randomUUID();
  });

  afterEach(async () => {
    children.splice(0).forEach((child) => child.kill('SIGKILL'));
    await rm(directory, { recursive: true });
  });

  function sleeping(carried?: string): number {
    const env = { ...process.env, ...(carried !== undefined && { [MARKER]: carried }) };
    const child = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore', env });
    children.push(child);
    return child.pid!;
  }

  const record = (content: object) =>
    writeFile(join(folder, `${marker}.json`), JSON.stringify({ space: processSpace(), marker, ...content }));
  const dead = async () => ({ pid: await deadProcess(), start: '1' });
  const runs = (...pids: number[]) => Promise.all(pids.map((pid) => anyRuns([pid])));

  it('are ended: the agent, and what carries its marker', async () => {
    const [agent, stray] = [sleeping(), sleeping(marker)];
    await record({ service: await dead(), agent: { pid: agent, start: startOf(agent) } });
    await endLeftovers(directory);
    expect([await runs(agent, stray), await readdir(folder)]).toEqual([[false, false], []]);
  });

  it('are ended also where the service was killed while it started the agent', async () => {
    const agent = sleeping(marker);
    await record({ service: await dead() });
    await endLeftovers(directory);
    expect([await runs(agent), await readdir(folder)]).toEqual([[false], []]);
  });

  it('are none where the service lives', async () => {
    const agent = sleeping(marker);
    const service = { pid: process.pid, start: startOf(process.pid) };
    await record({ service, agent: { pid: agent, start: startOf(agent) } });
    await endLeftovers(directory);
    expect([await runs(agent), await readdir(folder)]).toEqual([[true], [`${marker}.json`]]);
  });

  it('are not what has got their id since then', async () => {
    const other = sleeping();
    const reused = { pid: process.pid, start: '1' };
    await record({ service: reused, agent: { pid: other, start: '1' } });
    await endLeftovers(directory);
    expect([await runs(other), await readdir(folder)]).toEqual([[true], []]);
  });

  it('are left where they are of another container, or where nothing can be read', async () => {
    const agent = sleeping(marker);
    await record({ space: 'another', service: await dead(), agent: { pid: agent, start: startOf(agent) } });
    await writeFile(join(folder, 'cut.json'), '{"spa');
    await endLeftovers(directory);
    expect([await runs(agent), (await readdir(folder)).length]).toEqual([[true], 2]);
  });

  it('need no folder', async () => {
    await expect(endLeftovers(join(directory, 'nowhere'))).resolves.toBeUndefined();
  });
});
