import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { RunRecord, TurnFile, Admission } from 'nest-agent-query';
import {
  admissionOf,
  casesOf,
  codeOf,
  finish,
  inSession,
  itWith,
  newRun,
  reopen,
  restart,
  store,
  sweep,
} from './opened-store.js';
import { describe, expect, it } from './runner.js';

const HELLO = Buffer.from('Hello, file!');
/** Larger than any piece in which a store writes or reads. */
const LARGE = Buffer.alloc(1_200_000, Array.from({ length: 251 }, (_, index) => index) as never);
const OWNERS = ['', 'ann', 'Ann', '\0ann', '\ud800', 'x'.repeat(5_000)];

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function fileOf(bytes: Uint8Array, name = 'a "file" — 文.bin'): TurnFile {
  return { type: 'file', name, mimeType: 'application/x-test', size: bytes.length, sha256: digestOf(bytes) };
}

function blobOf(bytes: Uint8Array): Blob {
  return new Blob([new Uint8Array(bytes)]);
}

/** The files of queries and answers. */
export function describeFiles(): void {
  describe('files', () => {
    const add = (run: RunRecord, bytes: Uint8Array, file = fileOf(bytes)) =>
      store.saveFile(run, file, blobOf(bytes));
    const bytesOf = async (
      run: Pick<RunRecord, 'id'>,
      bytes: Uint8Array,
      range?: { start: number; end: number },
    ) => {
      const content = await store.files!.read(run.id, digestOf(bytes), range);
      if (!content) return undefined;
      const chunks: Uint8Array[] = [];
      for await (const chunk of content) chunks.push(chunk);
      return Buffer.concat(chunks);
    };
    const openLarge = async (run: Pick<RunRecord, 'id'>) => store.files!.open?.(run.id, digestOf(LARGE));
    const find = async ({ owner, id }: RunRecord, bytes: Uint8Array) =>
      store.part(owner, id, digestOf(bytes));
    /** Admits a query that brings a file. */
    const admitWith = async (bytes: Uint8Array, admission: Partial<Admission> = {}) => {
      const { runId } = admissionOf();
      await store.files!.keep(runId, digestOf(bytes), blobOf(bytes));
      return newRun({ runId, parts: [fileOf(bytes)], ...admission });
    };

    it('of an answer have their name, type and bytes, also when the run has ended', async () => {
      const run = await newRun();
      for (const bytes of [HELLO, LARGE, Buffer.alloc(0)]) await add(run, bytes);
      await finish(run);
      for (const bytes of [HELLO, LARGE, Buffer.alloc(0)]) {
        expect(await find(run, bytes)).toEqual(fileOf(bytes));
        expect((await bytesOf(run, bytes))!.equals(bytes)).toBe(true);
      }
    });

    it('of a query have their name, type and bytes, with or without a session', async () => {
      for (const session of [undefined, inSession('s')]) {
        const run = await admitWith(HELLO, { session });
        expect(await find(run, HELLO)).toEqual(fileOf(HELLO));
        await finish(run);
        expect(await find(run, HELLO)).toEqual(fileOf(HELLO));
        expect(await bytesOf(run, HELLO)).toEqual(HELLO);
      }
    });

    it('that are opened stay as they are until they are removed, also when they are not kept any more', async () => {
      const { readFile } = await import('node:fs/promises');
      const run = await admitWith(LARGE, { session: inSession('one') });
      await finish(run);
      expect(await store.files!.open?.('unknown', digestOf(LARGE))).toBeUndefined();
      const [one, other] = [await openLarge(run), await openLarge(run)];
      await one?.remove();
      await store.erase('anonymous', 'one');
      await sweep();
      expect(await bytesOf(run, LARGE)).toBeUndefined();
      expect(await openLarge(run)).toBeUndefined();
      // A store may have no files of this machine.
      if (!one || !other) return;
      expect((await readFile(other.path)).equals(LARGE)).toBe(true);
      await other.remove();
      await other.remove();
      for (const { path } of [one, other])
        await expect(readFile(path)).rejects.toMatchObject({ code: 'ENOENT' });
    });

    it('are read from any byte to any byte', async () => {
      const { default: fc } = await import('fast-check');
      const run = await newRun();
      await add(run, LARGE);
      const position = fc.oneof(
        fc.nat(LARGE.length - 1),
        fc.constantFrom(0, 1, 65_535, 65_536, 262_144, 524_287, 524_288, 1_048_576, LARGE.length - 1),
      );
      await fc.assert(
        fc.asyncProperty(position, position, async (one, other) => {
          const range = { start: Math.min(one, other), end: Math.max(one, other) };
          const part = (await bytesOf(run, LARGE, range))!;
          expect(part.equals(LARGE.subarray(range.start, range.end + 1))).toBe(true);
        }),
        { numRuns: casesOf(25) },
      );
    });

    it('belong to one run of one owner', async () => {
      const runs = await Promise.all(OWNERS.map((owner) => newRun({ owner })));
      for (const run of runs) await add(run, HELLO, fileOf(HELLO, `of ${run.id}`));
      const other = await newRun();
      await add(other, LARGE);
      for (const run of runs) {
        expect(await find(run, HELLO)).toEqual(fileOf(HELLO, `of ${run.id}`));
        expect(await bytesOf(run, LARGE)).toBeUndefined();
        expect(await find(run, LARGE)).toBeUndefined();
        for (const { owner } of runs.filter(({ id }) => id !== run.id)) {
          expect(await store.part(owner, run.id, digestOf(HELLO))).toBeUndefined();
        }
      }
      for (const sha256 of ['', '0'.repeat(64), '\0', 'x'.repeat(64), digestOf(HELLO).toUpperCase()]) {
        expect(await store.part('ann', runs[1]!.id, sha256)).toBeUndefined();
      }
    });

    it('with the same content keep the first name', async () => {
      const run = await admitWith(HELLO);
      await add(run, HELLO, fileOf(HELLO, 'second.bin'));
      expect(await find(run, HELLO)).toEqual(fileOf(HELLO));
      expect(await bytesOf(run, HELLO)).toEqual(HELLO);
    });

    it('are refused for a run that has ended, that does not exist, or that another owner has', async () => {
      const run = await newRun({ owner: 'ann' });
      for (const ref of [
        { ...run, id: 'unknown' },
        { ...run, owner: 'bob' },
      ]) {
        expect(await codeOf(() => add(ref, HELLO))).toBe('interrupted');
      }
      await finish(run);
      expect(await codeOf(() => add(run, HELLO))).toBe('interrupted');
      expect(await find(run, HELLO)).toBeUndefined();
    });

    it('of a session are kept for its turns, and erased with it', async () => {
      const [first, second] = [await admitWith(HELLO, { session: inSession('one') }), await newRun()];
      await add(first, LARGE);
      await finish(first);
      await add(second, HELLO);
      await sweep();
      expect(await bytesOf(first, LARGE)).toHaveLength(LARGE.length);
      await store.erase('anonymous', 'one');
      for (const bytes of [HELLO, LARGE]) {
        expect(await find(first, bytes)).toBeUndefined();
        expect(await bytesOf(first, bytes)).toBeUndefined();
      }
      expect(await bytesOf(second, HELLO)).toEqual(HELLO);
    });

    itWith('lengthLimits')('of a session outlive the run, as its turn does', async () => {
      await reopen({ totalLength: 0 });
      const run = await admitWith(HELLO, { session: inSession('one') });
      await add(run, LARGE);
      await finish(run);
      const alone = await admitWith(HELLO);
      await add(alone, LARGE);
      await finish(alone);
      await newRun();
      await sweep();
      expect(await store.find('anonymous', run.id)).toBeUndefined();
      expect(await find(run, HELLO)).toEqual(fileOf(HELLO));
      expect(await bytesOf(run, LARGE)).toHaveLength(LARGE.length);
      // Without a session, the files are kept with the run.
      expect(await store.find('anonymous', alone.id)).toBeUndefined();
      expect(await find(alone, HELLO)).toBeUndefined();
      expect(await bytesOf(alone, HELLO)).toBeUndefined();
    });

    itWith('lengthLimits')('are still known when their content is no longer kept', async () => {
      await reopen({ filesBytes: 10_000 });
      const run = await newRun();
      await add(run, HELLO);
      await finish(run);
      // More than the limit, of small files as the first: the memory store has another limit for large ones.
      const other = await newRun();
      for (let i = 0; i < 17; i++) await add(other, Buffer.alloc(600, i + 1));
      await finish(other);
      await sweep();
      expect(await find(run, HELLO)).toEqual(fileOf(HELLO));
      expect(await bytesOf(run, HELLO)).toBeUndefined();
    });

    itWith('durable')('survive a restart of a durable store', async () => {
      const run = await admitWith(HELLO);
      await add(run, LARGE);
      await finish(run);
      await restart();
      expect(await find(run, HELLO)).toEqual(fileOf(HELLO));
      expect((await bytesOf(run, LARGE))!.equals(LARGE)).toBe(true);
    });
  });
}
