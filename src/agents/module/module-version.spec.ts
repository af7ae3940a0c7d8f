import { lastValueFrom, NEVER, of, throwError, toArray } from 'rxjs';
import type { AgentHandler, Envelope, HandlerAnswer } from '../../query/index.js';
import { contextOf, queryOf } from '../../testing/index.js';
import { ModuleVersion } from './module-version.js';

const ENVELOPE: Envelope = { type: 'message', data: { content: 'a' } };

function versionOf(handle: () => unknown): ModuleVersion {
  return new ModuleVersion({ handle } as unknown as AgentHandler);
}

const handle = async (version: ModuleVersion) => version.handle(await queryOf('a'), await contextOf());

/** Whether no run executes the code of a version that is retired. */
async function isGone(version: ModuleVersion): Promise<boolean> {
  let isGone = false;
  void version.gone.then(() => (isGone = true));
  await new Promise((resolve) => setImmediate(resolve));
  return isGone;
}

async function* two(): AsyncGenerator<Envelope> {
  yield ENVELOPE;
  yield ENVELOPE;
}

const iteratorOf = (answer: HandlerAnswer) => (answer as AsyncIterable<Envelope>)[Symbol.asyncIterator]();

describe('A version of a module', () => {
  it('is there until its last run has ended: an iterable to its end', async () => {
    const version = versionOf(two);
    const iterator = iteratorOf(await handle(version));
    expect(await iterator.next()).toEqual({ value: ENVELOPE, done: false });
    void version.retire();
    await iterator.next();
    expect(await isGone(version)).toBe(false);
    expect(await iterator.next()).toEqual({ value: undefined, done: true });
    expect(await isGone(version)).toBe(true);
  });

  it('is there until an iterable is returned', async () => {
    const version = versionOf(two);
    const iterator = iteratorOf(await handle(version));
    void version.retire();
    await iterator.next();
    await iterator.return!();
    expect(await isGone(version)).toBe(true);
  });

  it('is there until an iterable has thrown', async () => {
    const version = versionOf(async function* () {
      yield ENVELOPE;
      throw new Error('broken');
    });
    const iterator = iteratorOf(await handle(version));
    await iterator.next();
    await expect(iterator.next()).rejects.toThrow('broken');
    void version.retire();
    expect(await isGone(version)).toBe(true);
  });

  it('passes an iterator without return on as one', async () => {
    const version = versionOf(() => ({
      [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: true }) }),
    }));
    expect(iteratorOf(await handle(version))).not.toHaveProperty('return');
  });

  it('passes an Observable on, and is there until that completes, fails or is left', async () => {
    const completed = versionOf(() => of(ENVELOPE, ENVELOPE));
    const answer = (await handle(completed)) as ReturnType<typeof of<Envelope[]>>;
    expect(await lastValueFrom(answer.pipe(toArray()))).toEqual([ENVELOPE, ENVELOPE]);
    void completed.retire();
    expect(await isGone(completed)).toBe(true);

    const failed = versionOf(() => throwError(() => new Error('broken')));
    await expect(lastValueFrom((await handle(failed)) as typeof answer)).rejects.toThrow('broken');
    void failed.retire();
    expect(await isGone(failed)).toBe(true);

    const left = versionOf(() => NEVER);
    const subscription = ((await handle(left)) as typeof answer).subscribe();
    void left.retire();
    expect(await isGone(left)).toBe(false);
    subscription.unsubscribe();
    expect(await isGone(left)).toBe(true);
  });

  it('does not wait for an answer that nobody has consumed, nor for a handler that has thrown', async () => {
    const unread = versionOf(two);
    await handle(unread);
    void unread.retire();
    expect(await isGone(unread)).toBe(true);
    const broken = versionOf(() => {
      throw new Error('broken');
    });
    await expect(handle(broken)).rejects.toThrow('broken');
    void broken.retire();
    expect(await isGone(broken)).toBe(true);
  });

  it('leaves an answer that is none to the service', async () => {
    for (const answer of [undefined, null, 'text', {}])
      expect(await handle(versionOf(() => answer))).toBe(answer);
  });
});
