import { QueryError } from 'nest-agent-query';
import { INTERRUPTED } from 'nest-agent-query/store-rules';
import { admit, admitTo, codeOf, finish, keptAnswer, store } from './opened-store.js';
import { describe, it, expect } from './runner.js';

/** A repeated query finds the run that it started. */
export function describeIdempotencyKeys(): void {
  describe('idempotency keys', () => {
    const idempotency = { key: 'k', digest: '1' };

    it('start a new run if the run that they started was interrupted', async () => {
      const { run } = await admit({ idempotency });
      await store.end(run, INTERRUPTED, keptAnswer());
      expect(await codeOf(() => admit({ idempotency: { key: 'k', digest: '2' } }))).toBe(
        'idempotency_conflict',
      );
      const again = await admit({ idempotency });
      expect([again.created, again.run.id === run.id]).toEqual([true, false]);
      expect(await admit({ idempotency })).toMatchObject({ created: false, run: { id: again.run.id } });
      expect(await store.find(run.owner, run.id)).toMatchObject({ status: 'failed' });
    });

    it('lead to the run that they started, before and after its end', async () => {
      const { run } = await admit({ idempotency });
      const repeated = await admit({ idempotency, refusal: new QueryError('draining', 'Shutting down.') });
      expect(repeated).toMatchObject({
        created: false,
        ahead: [],
        run: { id: run.id, status: 'running' },
      });
      await finish(run);
      expect(await admit({ idempotency })).toMatchObject({
        created: false,
        run: { id: run.id, status: 'completed' },
      });
    });

    it('refuse another digest', async () => {
      await admit({ idempotency });
      expect(await codeOf(() => admit({ idempotency: { key: 'k', digest: '2' } }))).toBe(
        'idempotency_conflict',
      );
    });

    it('belong to their owner', async () => {
      await admit({ idempotency });
      expect(await admit({ owner: 'ann', idempotency })).toMatchObject({ created: true });
    });

    it('find their run in a busy or full session too', async () => {
      const session = { id: 's', policy: 'reject' as const, maxWaiting: 0 };
      const { run } = await admit({ session, idempotency });
      expect(await admit({ session, idempotency })).toMatchObject({ created: false, run: { id: run.id } });
    });

    it('are still unused after a refused query', async () => {
      await codeOf(() => admit({ idempotency, refusal: new QueryError('draining', 'Shutting down.') }));
      expect(await admit({ idempotency: { key: 'k', digest: '2' } })).toMatchObject({ created: true });
    });

    it('create one run for twenty queries at the same time', async () => {
      const admitted = await Promise.all(Array.from({ length: 20 }, () => admitTo('s', { idempotency })));
      expect(admitted.filter(({ created }) => created)).toHaveLength(1);
      expect(new Set(admitted.map(({ run }) => run.id)).size).toBe(1);
      expect(await store.queue('anonymous', 's')).toHaveLength(1);
    });
  });
}
