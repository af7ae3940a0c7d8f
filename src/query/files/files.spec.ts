import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Query, FilePart } from '../ports/agent-handler.js';
import { FileStore } from '../ports/file-store.js';
import { DEFAULT_BODY_LIMITS } from '../options/table.js';
import { Files, OpenedFiles } from './files.js';
import { Spool } from './spool.js';

/** Keeps contents in a map, and records which runs were released. */
class MapFileStore extends FileStore {
  readonly contents = new Map<string, Uint8Array>();
  readonly released: string[] = [];
  failAt: string | undefined;

  async keep(runId: string, sha256: string, content: Blob): Promise<void> {
    if (sha256 === this.failAt) throw new Error('The store failed.');
    this.contents.set(`${runId} ${sha256}`, new Uint8Array(await content.arrayBuffer()));
  }

  release(runId: string): void {
    this.released.push(runId);
  }

  async *#pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
    for (let offset = 0; offset < bytes.length; offset += 10) yield bytes.subarray(offset, offset + 10);
  }

  read(runId: string, sha256: string): AsyncIterable<Uint8Array> | undefined {
    const bytes = this.contents.get(`${runId} ${sha256}`);
    return bytes && this.#pieces(bytes);
  }
}

describe('The files of a query', () => {
  let parent: string;
  let spool: Spool;
  let store: MapFileStore;

  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), 'files-'));
    spool = await Spool.open(parent);
    store = new MapFileStore();
  });

  afterEach(async () => {
    expect(await spoolFiles()).toEqual([]);
    await spool.close();
    expect(await readdir(parent)).toEqual([]);
    await rm(parent, { recursive: true });
  });

  const spoolFiles = () => readdir(spool.directory).catch(() => []);

  function partOf(name: string, text: string): FilePart {
    const sha256 = createHash('sha256').update(text).digest('hex');
    return { type: 'file', name, mimeType: 'text/plain', sha256, file: new File([text], name) };
  }

  function turnFileOf({ name, mimeType, sha256, file }: FilePart) {
    return { type: 'file' as const, name, mimeType, sha256, size: file.size };
  }

  it.each([
    ['memory', 25, 0],
    ['the spool', 24, 1],
  ])('are read into %s with a limit of %i bytes for memory', async (_, memoryBytes, count) => {
    const files = new Files(store, spool, { ...DEFAULT_BODY_LIMITS, memoryBytes });
    const part = partOf('a.txt', 'A content of 25 bytes ...');
    const query: Query = { parts: [{ type: 'text', text: 'b' }, part], kwargs: {} };
    expect(await files.keep('run', query)).toBe(true);

    const opened = new OpenedFiles();
    const parts = await files.restore('run', [{ type: 'text', text: 'b' }, turnFileOf(part)], opened);
    expect(await spoolFiles()).toHaveLength(count);
    expect(parts).toMatchObject([
      { type: 'text', text: 'b' },
      { type: 'file', name: 'a.txt', mimeType: 'text/plain', sha256: part.sha256 },
    ]);
    expect(await (parts[1] as FilePart).file.text()).toBe('A content of 25 bytes ...');

    opened.close();
    while ((await spoolFiles()).length > 0) await new Promise(setImmediate);
  });

  it('are removed at once if the run that opens them no longer needs them', async () => {
    const files = new Files(store, spool, { ...DEFAULT_BODY_LIMITS, memoryBytes: 0 });
    const part = partOf('a.txt', 'content');
    await files.keep('run', { parts: [part], kwargs: {} });
    const opened = new OpenedFiles();
    opened.close();
    await expect(files.open('run', turnFileOf(part), opened)).rejects.toThrow('The content was discarded.');
    while ((await spoolFiles()).length > 0) await new Promise(setImmediate);
  });

  it('are released if one of them cannot be kept', async () => {
    const parts = [partOf('a.txt', 'a'), partOf('b.txt', 'b')];
    store.failAt = parts[1]!.sha256;
    await expect(
      new Files(store, spool, { ...DEFAULT_BODY_LIMITS, memoryBytes: 0 }).keep('run', { parts, kwargs: {} }),
    ).rejects.toThrow('The store failed.');
    expect(store.released).toEqual(['run']);
  });

  it('cannot be opened once they are no longer kept', async () => {
    const opened = new OpenedFiles();
    const file = turnFileOf(partOf('a.txt', 'a'));
    await expect(
      new Files(store, spool, { ...DEFAULT_BODY_LIMITS, memoryBytes: 0 }).open('run', file, opened),
    ).rejects.toMatchObject({
      code: 'not_found',
      detail: 'The file "a.txt" is no longer kept.',
    });
  });

  it('leave nothing in the spool if the store fails while it reads them', async () => {
    store.read = () =>
      (async function* () {
        yield new Uint8Array(10);
        throw new Error('The store failed.');
      })();
    const file = { ...turnFileOf(partOf('a.txt', 'a')), size: 20 };
    await expect(
      new Files(store, spool, { ...DEFAULT_BODY_LIMITS, memoryBytes: 0 }).open(
        'run',
        file,
        new OpenedFiles(),
      ),
    ).rejects.toThrow('The store failed.');
    expect(await spoolFiles()).toEqual([]);
  });
});
