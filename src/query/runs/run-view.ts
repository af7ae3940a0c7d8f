import type { RunView } from 'nest-agent-query-client';
import type { RunRecord } from '../ports/run-store.js';

export function viewOf(record: RunRecord): RunView {
  return {
    id: record.id,
    status: record.status,
    session: record.sessionId ?? null,
    createdAt: new Date(record.createdAt).toISOString(),
    startedAt: timeOf(record.startedAt),
    endedAt: timeOf(record.endedAt),
    events: record.lastSeq,
    ...(record.end?.status === 'failed' && { error: record.end.error }),
  };
}

function timeOf(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}
