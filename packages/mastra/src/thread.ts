import { createHash } from 'node:crypto';
import type { SessionRef } from 'nest-agent-query';

/** The thread of a session. Threads of all owners are in one list, so its name is made of the owner and the id. */
export function threadOf({ owner, id }: SessionRef): string {
  return createHash('sha256')
    .update(JSON.stringify([owner, id]))
    .digest('hex');
}
