import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Folders } from './folders.js';

describe('The folders of agents', () => {
  let directory: string;
  let folders: Folders;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'agent-folders-'));
    folders = new Folders({ directory, home: 'owner' });
  });

  afterEach(() => rm(directory, { recursive: true }));

  it('are of one owner and one session each, and for this user only', async () => {
    const places = await Promise.all([
      folders.place('ann', 's'),
      folders.place('ann', 't'),
      folders.place('../bob', 's/..'),
    ]);
    const modes = await Promise.all(places.map(async ({ folder }) => (await stat(folder)).mode & 0o777));
    expect(modes).toEqual([0o700, 0o700, 0o700]);
    expect(places.map(({ home }) => home === places[0].home)).toEqual([true, true, false]);
    expect(new Set(places.map(({ folder }) => folder)).size).toBe(3);
    expect(await readdir(directory)).toEqual(['owners']);
    expect(JSON.stringify(places)).not.toMatch(/ann|bob/);
  });

  it('keep what is known of a session, and take what was cut as nothing', async () => {
    const place = await folders.place('ann', 's');
    expect(await folders.read(place)).toBeUndefined();
    await folders.write(place, { agentSession: 'x', run: 'r' });
    expect(await folders.read(place)).toEqual({ agentSession: 'x', run: 'r' });
    await writeFile(place.record, '{"agentSess');
    expect(await folders.read(place)).toBeUndefined();
  });

  it('are erased with their session, and those of the owner with the last one', async () => {
    const [one, other] = [await folders.place('ann', 's'), await folders.place('ann', 't')];
    await folders.write(one, { agentSession: 'x', run: 'r' });
    await folders.erase('ann', 's');
    expect([one.folder, one.record, other.folder].map((path) => existsSync(path))).toEqual([
      false,
      false,
      true,
    ]);
    // A session whose first turn has not ended is there too.
    await expect(folders.write(other, { agentSession: 'y', run: 'r' })).resolves.toBeUndefined();
    await folders.erase('ann', 't');
    expect(await readdir(join(directory, 'owners'))).toEqual([]);
    await expect(folders.erase('ann', 't')).resolves.toBeUndefined();
  });

  it('are complete though others of the owner are erased at the same time', async () => {
    await folders.place('ann', 's');
    const [place] = await Promise.all([
      folders.erase('ann', 's').then(() => folders.place('ann', 't')),
      folders.place('ann', 'u'),
    ]);
    expect([place.home, place.folder, dirname(place.record)].every((path) => existsSync(path))).toBe(true);
  });

  it('are refused where something else has the name', async () => {
    const { folder } = await folders.place('ann', 's');
    await rm(folder, { recursive: true });
    await writeFile(folder, '');
    await expect(folders.place('ann', 's')).rejects.toThrow(/cannot be made: something else has its name/);
  });
});
