import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { deadProcess } from '../../../test/support/child-processes.js';
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

  async function makeDirectory(name: string): Promise<void> {
    await mkdir(join(parent, name));
    await writeFile(join(parent, name, '1'), 'left');
  }

  it('makes its directory with its first file, and no other user can read either', async () => {
    const spool = await Spool.open(parent);
    const file = spool.newFile();
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

  it('makes its parent directory if it is missing', async () => {
    const spool = await Spool.open(join(parent, 'a', 'b'));
    await spool.newFile().write(Buffer.from('a'));
    expect(await readdir(join(parent, 'a', 'b'))).toHaveLength(1);
    await spool.close();
    expect(await readdir(join(parent, 'a', 'b'))).toEqual([]);
  });

  it('makes its directory again after a cleaner of temporary files removed it', async () => {
    const spool = await Spool.open(parent);
    await spool.newFile().write(Buffer.from('a'));
    await rm(spool.directory, { recursive: true });
    const file = spool.newFile();
    await file.write(Buffer.from('b'));
    expect(await readFile(file.path, 'utf8')).toBe('b');
    await file.remove();
    await file.remove();
    expect(await readdir(spool.directory)).toEqual([]);
    await spool.close();
    expect(await readdir(parent)).toEqual([]);
  });

  it('makes no file once it is closed', async () => {
    const spool = await Spool.open(parent);
    const file = spool.newFile();
    await spool.close();
    await expect(file.write(Buffer.from('a'))).rejects.toThrow('The spool is closed.');
    expect(await readdir(parent)).toEqual([]);
  });

  it('removes at its start the spools of dead processes, and nothing else', async () => {
    const [, prefix, machine, pid, start] = await nameOfOurs();
    const abandoned = [
      `${prefix}${machine}-${await deadProcess()}-1-000000000000`,
      // An earlier process with the id of this one.
      `${prefix}${machine}-${pid}-1-000000000000`,
      `${prefix}00000000-1-1-aaaaaaaaaaaa`,
    ];
    const kept = [
      `${prefix}${machine}-${pid}-${start}-000000000000`,
      `${prefix}00000000-1-1-bbbbbbbbbbbb`,
      `${prefix}${machine}-999999999-1-other`,
      'another-program',
    ];
    for (const name of [...abandoned, ...kept]) await makeDirectory(name);
    const twoDaysAgo = Date.now() / 1000 - 2 * 24 * 60 * 60;
    await utimes(join(parent, abandoned[2]!), twoDaysAgo, twoDaysAgo);

    await Spool.open(parent);
    expect((await readdir(parent)).sort()).toEqual(kept.sort());
  });
});
