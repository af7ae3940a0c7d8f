import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import process from 'node:process';
import { Spool } from './spool.js';

describe('The spool', () => {
  let parent: string;

  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), 'spool-'));
  });

  afterEach(() => rm(parent, { recursive: true, force: true }));

  /** The fields of a spool directory's name: prefix, machine, process id, start time, random. */
  async function nameOfOurs(): Promise<RegExpExecArray> {
    const spool = await Spool.open(parent);
    return /^(nest-agent-query-)([0-9a-f]{8})-(\d+)-(\d+)-([0-9a-f]{12})$/.exec(basename(spool.directory))!;
  }

  async function leave(name: string): Promise<void> {
    await mkdir(join(parent, name));
    await writeFile(join(parent, name, '1'), 'left');
  }

  async function deadProcess(): Promise<number> {
    const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
    await once(child, 'exit');
    return child.pid!;
  }

  it('touches the disk with its first file, which nobody else can read', async () => {
    const spool = await Spool.open(parent);
    const file = spool.file();
    expect(await readdir(parent)).toEqual([]);
    await file.write(Buffer.from('first '));
    await file.write(Buffer.from('second'));
    await file.close();
    expect(await readFile(file.path, 'utf8')).toBe('first second');
    expect((await stat(spool.directory)).mode & 0o777).toBe(0o700);
    expect((await stat(file.path)).mode & 0o777).toBe(0o600);
    await spool.close();
    expect(await readdir(parent)).toEqual([]);
  });

  it('makes its parent directory where that is missing', async () => {
    const spool = await Spool.open(join(parent, 'a', 'b'));
    await spool.file().write(Buffer.from('a'));
    expect(await readdir(join(parent, 'a', 'b'))).toHaveLength(1);
    await spool.close();
  });

  it('goes on after a cleaner of temporary files took its directory', async () => {
    const spool = await Spool.open(parent);
    await spool.file().write(Buffer.from('a'));
    await rm(spool.directory, { recursive: true });
    const file = spool.file();
    await file.write(Buffer.from('b'));
    expect(await readFile(file.path, 'utf8')).toBe('b');
    await file.remove();
    await file.remove();
    expect(await readdir(spool.directory)).toEqual([]);
    await spool.close();
  });

  it('makes no file once it is closed', async () => {
    const spool = await Spool.open(parent);
    const file = spool.file();
    await spool.close();
    await expect(file.write(Buffer.from('a'))).rejects.toThrow('The spool is closed.');
    expect(await readdir(parent)).toEqual([]);
  });

  it('sweeps at its start what dead processes left, and nothing else', async () => {
    const [, prefix, machine, pid, start] = await nameOfOurs();
    const gone = [
      `${prefix}${machine}-${await deadProcess()}-1-000000000000`,
      // This process's id, of an earlier process that had it.
      `${prefix}${machine}-${pid}-1-000000000000`,
      `${prefix}00000000-1-1-aaaaaaaaaaaa`,
    ];
    const kept = [
      `${prefix}${machine}-${pid}-${start}-000000000000`,
      `${prefix}00000000-1-1-bbbbbbbbbbbb`,
      `${prefix}${machine}-999999999-1-other`,
      'somebody-else',
    ];
    for (const name of [...gone, ...kept]) await leave(name);
    const twoDaysAgo = Date.now() / 1000 - 2 * 24 * 60 * 60;
    await utimes(join(parent, gone[2]!), twoDaysAgo, twoDaysAgo);

    await Spool.open(parent);
    expect((await readdir(parent)).sort()).toEqual(kept.sort());
  });
});
