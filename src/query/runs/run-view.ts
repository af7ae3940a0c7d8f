import type { RunView, Turn } from 'nest-agent-query-client';
import { QueryError } from '../contract/errors.js';
import { runNotFound } from '../contract/refusals.js';
import type { RunRecord, RunStore } from '../ports/run-store.js';

export function viewOf(record: RunRecord): RunView {
  return {
    id: record.id,
    status: record.status,
    session: record.sessionId ?? null,
    createdAt: timeText(record.createdAt),
    startedAt: record.startedAt === undefined ? null : timeText(record.startedAt),
    endedAt: record.endedAt === undefined ? null : timeText(record.endedAt),
    events: record.lastSeq,
    ...(record.metadata && { metadata: record.metadata }),
    ...(record.end?.status === 'failed' && { error: record.end.error }),
  };
}

/** @throws {QueryError} `not_found` · `unavailable` */
export async function existingRun(store: RunStore, owner: string, runId: string): Promise<RunRecord> {
  const found = await store.find(owner, runId);
  if (!found) throw runNotFound();
  return found;
}

/** The parts of the query of a run; undefined if they are no longer kept. @throws {QueryError} `unavailable` */
export async function partsOf(store: RunStore, run: RunRecord): Promise<Turn['parts'] | undefined> {
  if (run.endedAt === undefined) {
    try {
      return await store.parts(run);
    } catch (error) {
      // It has ended meanwhile.
      if (!(error instanceof QueryError) || error.code !== 'not_found') throw error;
    }
  }
  if (run.sessionId === undefined) return undefined;
  return (await store.turn(run.owner, run.sessionId, run.id))?.turn.parts;
}

export function timeText(at: number): string {
  return new Date(at).toISOString();
}
