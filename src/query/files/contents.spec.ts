import { jest } from '@jest/globals';
import { mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Contents, type FileContent } from './contents.js';
import { DEFAULT_BODY_LIMITS } from '../body/limits.js';
import { Spool } from './spool.js';

/** The smallest PNG: its signature and header are enough to be known. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

describe('The content of a file part', () => {
  let parent: string;
  let spool: Spool;

  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), 'contents-'));
    spool = await Spool.open(parent);
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    await spool.close();
    await rm(parent, { recursive: true });
  });

  function take(contents: Contents, bytes: Buffer): FileContent {
    const writer = contents.begin(0);
    for (let at = 0; at < bytes.length; at += 40_000) {
      const piece = bytes.subarray(at, at + 40_000);
      piece.copy(writer.room(piece.length), writer.position);
      writer.wrote(piece.length);
    }
    return writer.finish();
  }

  const files = () => readdir(spool.directory).catch(() => []);

  it.each([
    ['in memory', 64 * 1024, 0],
    ['on disk', 64 * 1024 - 1, 1],
  ])(
    'lies %s beside a threshold of %i bytes, and is a File that is read again and again',
    async (_, memoryBytes, count) => {
      const bytes = Buffer.from('0123456789abcdef'.repeat(4096));
      const contents = new Contents({ ...DEFAULT_BODY_LIMITS, memoryBytes }, spool);
      const content = take(contents, bytes);
      await contents.settled();
      expect(await files()).toHaveLength(count);

      const file = await content.file('Ä b.txt', 'text/plain; charset=utf-8');
      expect(file).toBeInstanceOf(File);
      expect([file.name, file.type, file.size]).toEqual(['Ä b.txt', 'text/plain; charset=utf-8', 65536]);
      expect(await file.text()).toBe(bytes.toString());
      expect(Buffer.from(await file.arrayBuffer()).equals(bytes)).toBe(true);
      expect(await file.slice(65530).text()).toBe('abcdef');
      const streamed: Uint8Array[] = [];
      for await (const chunk of file.stream()) streamed.push(chunk as Uint8Array);
      expect(Buffer.concat(streamed).equals(bytes)).toBe(true);
      const form = new FormData();
      form.set('file', file);
      expect((await new Response(form).text()).includes('0123456789abcdef')).toBe(true);

      await content.discard();
      await content.discard();
      expect(await files()).toEqual([]);
      await expect(content.file('a', 'b/c')).rejects.toThrow('The content was discarded.');
    },
  );

  it('prints no warning when a file lies on disk', async () => {
    const warned = jest.spyOn(process, 'emitWarning');
    const contents = new Contents({ ...DEFAULT_BODY_LIMITS, memoryBytes: 0 }, spool);
    const content = take(contents, PNG);
    await contents.settled();
    await (await content.file('a.png', 'image/png')).arrayBuffer();
    expect(warned).not.toHaveBeenCalled();
  });

  it.each([0, 64 * 1024])('tells its type by its first bytes (%i bytes in memory)', async (memoryBytes) => {
    const contents = new Contents({ ...DEFAULT_BODY_LIMITS, memoryBytes }, spool);
    const [image, text, empty] = [PNG, Buffer.from('plain text'), Buffer.alloc(0)].map((b) =>
      take(contents, b),
    );
    await contents.settled();
    expect(await image!.detectType()).toBe('image/png');
    expect(await text!.detectType()).toBeUndefined();
    expect(await empty!.detectType()).toBeUndefined();
  });

  it('goes to disk in part when many small files would fill the memory', async () => {
    const contents = new Contents({ ...DEFAULT_BODY_LIMITS, memoryBytes: 1000 }, spool);
    const taken = Array.from({ length: 100 }, () => take(contents, Buffer.alloc(1000, 'a')));
    await contents.settled();
    expect(await files()).toHaveLength(36);
    expect(await (await taken[99]!.file('a', 'b/c')).text()).toBe('a'.repeat(1000));
    await contents.discard();
    expect(await files()).toEqual([]);
  });

  it.each(['ENOSPC', 'EDQUOT'])('reports %s as storage that is full, and leaves nothing', async (code) => {
    const probe = await open(parent);
    const handles = Object.getPrototypeOf(probe) as { writeFile: () => Promise<void> };
    await probe.close();
    jest.spyOn(handles, 'writeFile').mockRejectedValueOnce(Object.assign(new Error(code), { code }));
    const contents = new Contents(DEFAULT_BODY_LIMITS, spool);
    take(contents, Buffer.alloc(2_000_000));
    await expect(contents.settled()).rejects.toMatchObject({ code: 'storage_full' });
    expect(await files()).toHaveLength(1);
    await contents.discard();
    expect(await files()).toEqual([]);
  });

  it('hands on what else the disk says as it is', async () => {
    const contents = new Contents({ ...DEFAULT_BODY_LIMITS, memoryBytes: 0 }, spool);
    await spool.close();
    take(contents, PNG);
    await expect(contents.settled()).rejects.toThrow('The spool is closed.');
    await contents.discard();
  });
});
