import { log } from '../contract/envelopes.js';
import type { Query } from '../ports/agent-handler.js';

/** What makes a run wait. */
interface Limits {
  /** How many slots of this process are taken. */
  executing: number;
  maxRunningPerOwner: number;
}

/**
 * What the log of a new run says before its handler is called, as JSON texts of `log` envelopes. The parameters are those of
 * `Admission.notices`.
 */
export function noticesOf(
  query: Query,
  ahead: number | undefined,
  isDeferred: boolean,
  limits: Limits,
): string[] {
  const waiting = ahead === undefined ? [] : [waitingNotice(ahead, isDeferred, limits)];
  return [...mismatches(query), ...waiting].map((notice) => JSON.stringify(log(notice)));
}

function waitingNotice(
  ahead: number,
  isDeferred: boolean,
  { executing, maxRunningPerOwner }: Limits,
): string {
  if (ahead > 0) return `Waiting in the queue of the session: ${ahead} ahead.`;
  if (isDeferred) return `Waiting: ${maxRunningPerOwner} of your queries are executing, which is the limit.`;
  return `Waiting for a slot${executing > 0 ? `: ${executing} handlers are executing, which is the limit.` : '.'}`;
}

function mismatches({ parts }: Query): string[] {
  return parts.flatMap((part) =>
    part.type === 'file' && part.detectedMimeType !== undefined
      ? [`"${part.name}" is declared as ${part.mimeType}, but its bytes are ${part.detectedMimeType}.`]
      : [],
  );
}
