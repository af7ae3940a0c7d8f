import { jest } from '@jest/globals';
import { mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BodyContent } from './content.js';
import { BodyContents } from './body-contents.js';
import { DEFAULT_BODY_LIMITS } from '../options/table.js';
import { Spool } from './spool.js';

/** A PNG of one pixel. */
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
    expect(await files()).toEqual([]);
    await spool.close();
    expect(await readdir(parent)).toEqual([]);
    await rm(parent, { recursive: true });
  });

  function write(contents: BodyContents, bytes: Buffer): BodyContent {
    const writer = contents.begin('/parts/0/base64');
    for (let offset = 0; offset < bytes.length; offset += 40_000) {
      const piece = bytes.subarray(offset, offset + 40_000);
      piece.copy(writer.reserve(piece.length), writer.offset);
      writer.commit(piece.length);
    }
    return writer.finish();
  }

  const files = () => readdir(spool.directory).catch(() => []);

  it.each([
    ['in memory', 64 * 1024, 0],
    ['on disk', 64 * 1024 - 1, 1],
  ])(
    'is kept %s with a limit of %i bytes for memory, and is a File that can be read repeatedly',
    async (_, memoryBytes, count) => {
      const bytes = Buffer.from('0123456789abcdef'.repeat(4096));
      const contents = new BodyContents({ ...DEFAULT_BODY_LIMITS, memoryBytes }, spool);
      const content = write(contents, bytes);
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

  it('prints no warning when a file is on disk', async () => {
    const warned = jest.spyOn(process, 'emitWarning');
    const contents = new BodyContents({ ...DEFAULT_BODY_LIMITS, memoryBytes: 0 }, spool);
    const content = write(contents, PNG);
    await contents.settled();
    await (await content.file('a.png', 'image/png')).arrayBuffer();
    expect(warned).not.toHaveBeenCalled();
    await content.discard();
  });

  it.each([0, 64 * 1024])(
    'has a type that its first bytes show (limit for memory: %i bytes)',
    async (memoryBytes) => {
      const contents = new BodyContents({ ...DEFAULT_BODY_LIMITS, memoryBytes }, spool);
      const [image, text, empty] = [PNG, Buffer.from('plain text'), Buffer.alloc(0)].map((b) =>
        write(contents, b),
      );
      await contents.settled();
      expect(await image!.detectType()).toBe('image/png');
      expect(await text!.detectType()).toBeUndefined();
      expect(await empty!.detectType()).toBeUndefined();
      await contents.discard();
    },
  );

  it('is written to disk if the other contents of the body fill their share of the memory', async () => {
    const contents = new BodyContents({ ...DEFAULT_BODY_LIMITS, memoryBytes: 1000 }, spool);
    const written = Array.from({ length: 100 }, () => write(contents, Buffer.alloc(1000, 'a')));
    await contents.settled();
    expect(await files()).toHaveLength(36);
    expect(await (await written[99]!.file('a', 'b/c')).text()).toBe('a'.repeat(1000));
    await contents.discard();
    expect(await files()).toEqual([]);
  });

  it.each([
    ['storage_full', 'ENOSPC'],
    ['storage_full', 'EDQUOT'],
    ['unavailable', 'EIO'],
  ])('refuses the body with %s on %s, and leaves no file', async (refusal, code) => {
    const probe = await open(parent);
    const handles = Object.getPrototypeOf(probe) as { writeFile: () => Promise<void> };
    await probe.close();
    jest
      .spyOn(handles, 'writeFile')
      .mockRejectedValueOnce(Object.assign(new Error(code), { code, syscall: 'write' }));
    const contents = new BodyContents(DEFAULT_BODY_LIMITS, spool);
    write(contents, Buffer.alloc(2_000_000));
    await expect(contents.settled()).rejects.toMatchObject({ code: refusal });
    expect(await files()).toHaveLength(1);
    await contents.discard();
    expect(await files()).toEqual([]);
  });

  it('is refused with unavailable if the temporary file cannot be read', async () => {
    const contents = new BodyContents({ ...DEFAULT_BODY_LIMITS, memoryBytes: 0 }, spool);
    const content = write(contents, PNG);
    await contents.settled();
    await rm(spool.directory, { recursive: true });
    await expect(content.detectType()).rejects.toMatchObject({ code: 'unavailable' });
    await content.discard();
  });

  it('rejects with an error that is not one of the disk unchanged', async () => {
    const contents = new BodyContents({ ...DEFAULT_BODY_LIMITS, memoryBytes: 0 }, spool);
    await spool.close();
    write(contents, PNG);
    await expect(contents.settled()).rejects.toThrow('The spool is closed.');
    await contents.discard();
  });
});
