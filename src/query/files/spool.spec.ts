import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { deadProcess } from '../../../test/support/child-processes.js';
import { Spool } from './spool.js';

/** A directory that is not where the root directory is, as a volume of containers. */
const VOLUME = '/dev/shm';
const IN_NAMESPACE = ['--pid', '--fork', '--mount-proc', '--kill-child'];

/** Writes a file of a spool, says where it is, and waits. */
const OPENING_A_SPOOL = [
  '--input-type=module',
  '--eval',
  `import { register } from 'node:module';
  register(${JSON.stringify(new URL('../../../test/support/typescript-hooks.mjs', import.meta.url).href)});
  const { Spool } = await import(${JSON.stringify(new URL('./spool.ts', import.meta.url).href)});
  const spool = await Spool.open(process.argv[1]);
  await spool.newFile().write(Buffer.from('first'));
  console.log(spool.directory);
  setInterval(() => undefined, 1_000);`,
];

/** Not every system lets a user make namespaces of processes. */
const hasNamespaces = spawnSync('unshare', [...IN_NAMESPACE, 'true']).status === 0;
const inContainers = hasNamespaces ? it : it.skip;

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

  inContainers(
    'keeps what a process of another container with the same host name has on a volume',
    async () => {
      const volume = await mkdtemp(join(VOLUME, 'spool-'));
      // Such a process sees only those of its own namespace. This one does not see it under the id that it has there.
      const container = spawn('unshare', [...IN_NAMESPACE, process.execPath, ...OPENING_A_SPOOL, volume], {
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      try {
        const [output] = (await once(container.stdout, 'data')) as [Buffer];
        const directory = output.toString().trim();
        expect(await readdir(volume)).toEqual([basename(directory)]);

        const spool = await Spool.open(volume);
        expect(await readFile(join(directory, '1'), 'utf8')).toBe('first');
        await spool.close();
      } finally {
        container.kill('SIGKILL');
        await once(container, 'exit');
        await rm(volume, { recursive: true });
      }
    },
  );
});
