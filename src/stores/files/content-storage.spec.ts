import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DirectoryStorage } from './content-storage.js';

describe('A content in a directory', () => {
  let directory: string;
  let storage: DirectoryStorage;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'contents-'));
    storage = new DirectoryStorage(directory);
    await storage.write('id', new Blob(['Hello']));
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('is opened as the same file, which stays when the content is removed', async () => {
    const file = (await storage.open('id'))!;
    expect((await stat(file.path)).ino).toBe((await stat(join(directory, 'id', 'id'))).ino);
    await storage.remove('id');
    expect(await readFile(file.path, 'utf8')).toBe('Hello');
    await file.remove();
    expect(await readdir(join(directory, 'opened'))).toEqual([]);
  });

  it('cannot be opened where it is gone', async () => {
    await storage.remove('id');
    expect(await storage.open('id')).toBeUndefined();
  });

  it('that a process had opened which crashed is not open any more, and is kept', async () => {
    await storage.open('id');
    storage = new DirectoryStorage(directory);
    expect(await readdir(directory)).toEqual(['id']);
    const file = await storage.open('id');
    expect(await readFile(file!.path, 'utf8')).toBe('Hello');
  });
});
