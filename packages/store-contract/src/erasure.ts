import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { RunRecord, TurnFile } from 'nest-agent-query';
import { dayOf } from 'nest-agent-query/store-rules';
import { asking } from './inputs.js';
import {
  admissionOf,
  admit,
  admitTo,
  codeOf,
  eventually,
  find,
  finish,
  ids,
  inSession,
  isWith,
  itWith,
  newRun,
  reopen,
  restart,
  store,
  sweep,
  textOf,
  wait,
} from './opened-store.js';
import { describe, expect, it } from './runner.js';

const HELLO = Buffer.from('Hello, file!');
const LARGE = Buffer.alloc(600_000, Array.from({ length: 251 }, (_, index) => index) as never);
const OWNERS = ['', 'ann', '\0ann', '\ud800', 'x'.repeat(5_000)];
const IDEMPOTENCY = { key: 'k', digest: '1' };
const NOTHING = { uploads: 0, usage: 0 };

const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const blobOf = (bytes: Uint8Array) => new Blob([new Uint8Array(bytes)]);

function fileOf(bytes: Uint8Array): TurnFile {
  const sha256 = digestOf(bytes);
  return { type: 'file', name: 'a.bin', mimeType: 'application/x-test', size: bytes.length, sha256 };
}

/** A run of an owner with all that a run may have, as far as the store keeps it. */
async function fullRun(owner: string, sessionId?: string): Promise<RunRecord> {
  const { runId } = admissionOf();
  if (isWith('files')) await store.files!.keep(runId, digestOf(HELLO), blobOf(HELLO));
  const session = sessionId === undefined ? undefined : inSession(sessionId);
  const parts = [{ type: 'text' as const, text: 'x'.repeat(200_000) }, fileOf(HELLO)];
  const metadata = { team: 'sales' };
  const run = await newRun({ runId, owner, session, parts, metadata });
  const usage = { inputTokens: 1, outputTokens: 2, reasoningTokens: 0, cachedInputTokens: 0, price: 3 };
  await store.append(run, textOf('answer'), isWith('usage') ? { ...usage, model: 'm' } : undefined);
  if (isWith('files')) await store.saveFile(run, fileOf(LARGE), blobOf(LARGE));
  return run;
}

/** Whatever the store has of an owner. */
async function allOf(owner: string, runs: RunRecord[]) {
  const page = { after: undefined, limit: 99 };
  const today = dayOf(Date.now());
  const usage = isWith('usage')
    ? (await store.usage!.sums(owner, { by: 'day', from: today - 1, to: today + 1, ...page })).sums
    : [];
  const found = await Promise.all(runs.map(async (run) => store.find(owner, run.id)));
  const parts = await Promise.all(runs.map(async ({ id }) => store.part(owner, id, digestOf(HELLO))));
  const contents = await Promise.all(runs.map(async ({ id }) => store.files?.read(id, digestOf(LARGE))));
  return [
    ...(await store.runs(owner, page)).runs,
    ...(await store.runs(owner, { ...page, metadata: { team: 'sales' } })).runs,
    ...(await store.sessions(owner, page)).sessions,
    ...(isWith('inputs') ? (await store.inputs!.open(owner, page)).inputs : []),
    ...[await store.uploads?.find(owner, digestOf(HELLO)), await store.uploads?.find(owner, digestOf(LARGE))],
    ...usage,
    ...found,
    ...parts,
    ...contents,
  ].filter((each) => each !== undefined);
}

/** Erases all that there is of an owner, as a service does. */
async function eraseOwner(owner: string) {
  const page = { after: undefined, limit: 99 };
  for (const { id, sessionId } of (await store.runs(owner, page)).runs)
    if (sessionId === undefined) await store.eraseRun(owner, id);
  for (const { id } of (await store.sessions(owner, page)).sessions) await store.erase(owner, id);
  const uploads = isWith('uploads') ? await store.uploads!.erase(owner) : 0;
  return { uploads, usage: isWith('usage') ? await store.usage!.erase(owner) : 0 };
}

/** Runs without a session, and owners, that are erased. */
export function describeErasure(): void {
  describe('a run without a session that is erased', () => {
    it('is gone with its log and its files, and is not found again', async () => {
      const run = await fullRun('ann');
      await finish(run);
      const usageBefore = (await allOf('ann', [])).length;
      expect(usageBefore).toBeGreaterThan(1);
      expect(await store.eraseRun('ann', run.id)).toBe(true);
      expect(await codeOf(() => store.read(run, 0))).toBe('not_found');
      expect(await allOf('ann', [run])).toHaveLength(isWith('usage') ? 1 : 0);
      expect((await eraseOwner('ann')).usage).toBe(isWith('usage') ? 1 : 0);
      expect(await store.eraseRun('ann', run.id)).toBe(false);
    });

    it('is not erased for another owner, in a session, or before its end', async () => {
      const run = await newRun({ owner: 'ann' });
      const waiting = await wait({ owner: 'ann' });
      expect(await codeOf(() => store.eraseRun('ann', run.id))).toBe('session_busy');
      expect(await codeOf(() => store.eraseRun('ann', waiting.id))).toBe('session_busy');
      if (isWith('inputs')) {
        const asks = await newRun({ owner: 'ann' });
        await store.inputs!.ask(asks, asking());
        expect(await codeOf(() => store.eraseRun('ann', asks.id))).toBe('session_busy');
      }
      const { run: ofSession } = await admitTo('s', { owner: 'ann' });
      await finish(run);
      await finish(ofSession);
      expect(await store.eraseRun('bob', run.id)).toBe(false);
      expect(await store.eraseRun('ann', ofSession.id)).toBe(false);
      for (const id of ['', '\0', 'x'.repeat(100_000)]) expect(await store.eraseRun('ann', id)).toBe(false);
      expect(ids([(await find(run))!, (await find(ofSession))!])).toEqual([run.id, ofSession.id]);
    });

    it('leaves its idempotency key free', async () => {
      const { run } = await admit({ idempotency: IDEMPOTENCY });
      await finish(run);
      await store.eraseRun(run.owner, run.id);
      expect(await admit({ idempotency: { key: 'k', digest: '2' } })).toMatchObject({ created: true });
    });

    itWith('files')('leaves the files of others', async () => {
      const [first, second] = [await fullRun('ann'), await fullRun('ann')];
      await finish(first);
      await finish(second);
      await store.eraseRun('ann', first.id);
      await sweep();
      expect(await store.files!.read(first.id, digestOf(HELLO))).toBeUndefined();
      expect(await store.files!.read(second.id, digestOf(HELLO))).toBeDefined();
    });
  });

  describe('an owner who is erased', () => {
    it('has nothing any more, and another one has all', async () => {
      for (const owner of OWNERS) await eraseOne(owner);
    });

    const eraseOne = async (owner: string) => {
      const other = `${owner}.`;
      const runs: Record<string, RunRecord[]> = {};
      for (const each of [owner, other]) {
        const kept = [await fullRun(each), await fullRun(each, 's')];
        for (const run of kept) await finish(run, { status: 'completed' }, 'y'.repeat(200_000));
        runs[each] = kept;
        if (isWith('uploads')) await store.uploads!.keep(each, fileOf(LARGE), blobOf(LARGE), 10_000_000);
      }
      const ofOther = await allOf(other, runs[other]!);
      expect(await eraseOwner(owner)).toEqual({
        uploads: isWith('uploads') ? 1 : 0,
        usage: isWith('usage') ? 1 : 0,
      });
      expect(await allOf(owner, runs[owner]!)).toEqual([]);
      expect(await eraseOwner(owner)).toEqual(NOTHING);
      await sweep();
      expect((await allOf(other, runs[other]!)).length).toBe(ofOther.length);
    };

    it('who never was here has nothing', async () => {
      expect(await eraseOwner('nobody')).toEqual(NOTHING);
    });

    it('gets nothing of what a run emits after its end', async () => {
      const run = await newRun({ owner: 'ann' });
      await finish(run, { status: 'cancelled' });
      await eraseOwner('ann');
      await store.append(run, textOf('late'));
      expect(await finish(run)).toBeUndefined();
      if (isWith('files'))
        expect(await codeOf(() => store.saveFile(run, fileOf(HELLO), blobOf(HELLO)))).toBe('interrupted');
      expect(await allOf('ann', [run])).toEqual([]);
      expect(await codeOf(() => store.read(run, 0))).toBe('not_found');
    });

    it('may begin anew', async () => {
      await finish((await admitTo('s', { owner: 'ann', idempotency: IDEMPOTENCY })).run);
      await eraseOwner('ann');
      const { run, created } = await admitTo('s', { owner: 'ann', idempotency: IDEMPOTENCY });
      expect(created).toBe(true);
      await finish(run);
      expect((await store.turns('ann', 's', { after: 0, limit: 9 }))!.total).toBe(1);
    });

    itWith('changesSessions')('has no forks any more', async () => {
      await finish(await fullRun('ann', 's'));
      await store.fork('ann', { sessionId: 's', afterTurn: 1, newId: 'fork' });
      await eraseOwner('ann');
      expect(await store.turns('ann', 'fork', { after: 0, limit: 9 })).toBeUndefined();
    });

    itWith('files')('takes no file from another owner', async () => {
      const [ann, bob] = [await fullRun('ann'), await fullRun('bob')];
      await finish(ann);
      await finish(bob);
      await eraseOwner('ann');
      await sweep();
      for (const bytes of [HELLO, LARGE]) {
        expect(await store.files!.read(ann.id, digestOf(bytes))).toBeUndefined();
        expect(await store.files!.read(bob.id, digestOf(bytes))).toBeDefined();
      }
    });

    itWith('deliveries')('has no webhooks any more', async () => {
      await reopen({}, { endpoints: () => ['hooks'] });
      const run = await newRun({ owner: 'ann' });
      await finish(run);
      expect(await store.deliveries!.of(run)).toHaveLength(1);
      await eraseOwner('ann');
      expect(await store.deliveries!.of(run)).toEqual([]);
      expect(await store.deliveries!.take({ key: 'hooks', address: 'https://example.org' }, 9)).toEqual([]);
    });

    itWith('durable')('stays erased after a restart', async () => {
      const run = await fullRun('ann', 's');
      await finish(run);
      await eraseOwner('ann');
      await restart();
      expect(await allOf('ann', [run])).toEqual([]);
      await eventually(async () => (await store.logLength()) === 0);
    });
  });
}
