import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { type Admission, type TurnFile } from 'nest-agent-query';
import { UPLOAD_MS } from 'nest-agent-query/store-rules';
import {
  admissionOf,
  CLOCK_MS,
  codeOf,
  finish,
  inSession,
  itWith,
  later,
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

const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const blobOf = (bytes: Uint8Array) => new Blob([new Uint8Array(bytes)]);
const fileOf = (bytes: Uint8Array): TurnFile => ({
  type: 'file',
  name: 'a "file" — 文.bin',
  mimeType: 'application/x-test',
  size: bytes.length,
  sha256: digestOf(bytes),
});

const upload = async (owner: string, bytes: Uint8Array, maxBytes = Infinity) =>
  store.uploads!.keep(owner, fileOf(bytes), blobOf(bytes), maxBytes);
const unused = async (owner: string) => store.uploads!.unusedBytes(owner);

/** What an owner has of a content; undefined if the owner does not have it. */
async function sent(owner: string, bytes: Uint8Array): Promise<Buffer | undefined> {
  const found = await store.uploads!.find(owner, digestOf(bytes));
  if (!found) return undefined;
  expect(found.size).toBe(bytes.length);
  const chunks: Uint8Array[] = [];
  for await (const chunk of found.read()) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Admits a query with a file, as a service does that has the content. */
async function admitWith(bytes: Uint8Array, admission: Partial<Admission> = {}) {
  const { runId } = admissionOf();
  await store.files!.keep(runId, digestOf(bytes), blobOf(bytes));
  return newRun({ runId, parts: [fileOf(bytes)], ...admission });
}

/** The files that are sent before their query. */
export function describeUploads(): void {
  describe('uploads', () => {
    it('are kept with all their bytes, and expire after an hour', async () => {
      const before = Date.now();
      for (const bytes of [HELLO, LARGE, Buffer.alloc(0)]) {
        const expiresAt = await upload('ann', bytes);
        expect(expiresAt).toBeGreaterThan(before + UPLOAD_MS - CLOCK_MS);
        expect((await sent('ann', bytes))!.equals(bytes)).toBe(true);
      }
      await later(UPLOAD_MS - 10_000);
      expect(await sent('ann', HELLO)).toEqual(HELLO);
      await later(10_000 + CLOCK_MS);
      for (const bytes of [HELLO, LARGE]) expect(await sent('ann', bytes)).toBeUndefined();
      expect(await unused('ann')).toBe(0);
    });

    it('belong to one owner', async () => {
      for (const owner of OWNERS) {
        expect(await sent(owner, HELLO)).toBeUndefined();
        await upload(owner, HELLO);
      }
      await upload('bob', LARGE);
      for (const owner of OWNERS) {
        expect(await sent(owner, HELLO)).toEqual(HELLO);
        expect(await sent(owner, LARGE)).toBeUndefined();
        expect(await unused(owner)).toBe(HELLO.length);
      }
    });

    it('of the same content count once, and expire an hour after the last', async () => {
      await upload('ann', HELLO);
      await later(UPLOAD_MS / 2);
      await upload('ann', HELLO);
      expect(await unused('ann')).toBe(HELLO.length);
      await later(UPLOAD_MS / 2 + 10_000);
      expect(await sent('ann', HELLO)).toEqual(HELLO);
    });

    it('are refused where the unused bytes of the owner would exceed the limit, and leave nothing', async () => {
      const limit = 2 * HELLO.length;
      await upload('ann', HELLO, limit);
      expect(await codeOf(() => upload('ann', LARGE, limit))).toBe('rate_limited');
      expect(await sent('ann', LARGE)).toBeUndefined();
      await upload('ann', HELLO, limit);
      await upload('ann', Buffer.from('Hello, life!'), limit);
      expect(await unused('ann')).toBe(limit);
      await upload('bob', HELLO, limit);
      // Nobody else has it: it was not kept.
      await upload('bob', HELLO);
      const run = await newRun({ owner: 'ann' });
      expect(await store.files!.read(run.id, digestOf(LARGE))).toBeUndefined();
    });

    it('that are sent at the same time count together', async () => {
      const contents = Array.from({ length: 8 }, (_, number) => Buffer.from(`file ${number}`));
      const codes = await Promise.all(contents.map((bytes) => codeOf(() => upload('ann', bytes, 20))));
      expect(codes.filter((code) => code === 'none')).toHaveLength(3);
      expect(await unused('ann')).toBe(18);
    });

    it('that a run or a turn uses are not unused, and are found as long as it is kept', async () => {
      await upload('ann', HELLO);
      const run = await admitWith(HELLO, { owner: 'ann', session: inSession('s') });
      expect(await unused('ann')).toBe(0);
      await finish(run);
      await later(UPLOAD_MS + CLOCK_MS);
      expect(await sent('ann', HELLO)).toEqual(HELLO);
      await store.erase('ann', 's');
      expect(await sent('ann', HELLO)).toBeUndefined();
    });

    it('are kept where the session is erased that has used them', async () => {
      await upload('ann', LARGE);
      await finish(await admitWith(LARGE, { owner: 'ann', session: inSession('s') }));
      await store.erase('ann', 's');
      await sweep();
      expect((await sent('ann', LARGE))!.equals(LARGE)).toBe(true);
    });

    it('are found where the owner has sent the file with a query, and nobody else has it by that', async () => {
      await admitWith(HELLO, { owner: 'ann' });
      const answering = await newRun({ owner: 'ann' });
      await store.saveFile(answering, fileOf(LARGE), blobOf(LARGE));
      await upload('bob', Buffer.from('another'));
      for (const bytes of [HELLO, LARGE]) {
        expect((await sent('ann', bytes))!.equals(bytes)).toBe(true);
        expect(await sent('bob', bytes)).toBeUndefined();
      }
      for (const sha256 of ['', '0'.repeat(64), '\0', digestOf(HELLO).toUpperCase()])
        expect(await store.uploads!.find('ann', sha256)).toBeUndefined();
    });

    itWith('lengthLimits')('of one owner do not keep what another no longer has', async () => {
      await reopen({ filesBytes: 10_000 });
      const run = await admitWith(HELLO, { owner: 'ann' });
      await finish(run);
      const other = await newRun();
      // More than the limit, of small files as the first: the memory store has another limit for large ones.
      for (let i = 0; i < 17; i++) {
        const bytes = Buffer.alloc(600, i + 1);
        await store.saveFile(other, fileOf(bytes), blobOf(bytes));
      }
      await finish(other);
      await sweep();
      await upload('bob', HELLO);
      expect(await sent('ann', HELLO)).toBeUndefined();
      expect(await sent('bob', HELLO)).toEqual(HELLO);
    });

    itWith('durable')('survive a restart of a durable store', async () => {
      await upload('ann', LARGE);
      await restart();
      expect((await sent('ann', LARGE))!.equals(LARGE)).toBe(true);
    });
  });
}
