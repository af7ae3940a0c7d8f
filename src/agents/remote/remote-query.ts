import { createHash } from 'node:crypto';
import { QueryBody } from 'nest-agent-query-client/streams';
import type { Query } from '../../query/index.js';

/**
 * The body that passes a query on.
 *
 * @param owner of the run
 */
export function remoteQuery({ parts, kwargs }: Query, owner: string): QueryBody {
  const inputs = parts.map((part) =>
    part.type === 'text'
      ? { type: part.type, text: part.text }
      : { type: part.type, name: part.name, mimeType: part.mimeType, content: part.file },
  );
  return new QueryBody(inputs, { kwargs: remoteKwargs(kwargs, owner) });
}

/**
 * To the remote service all owners are one caller, so a session id of one owner must not name the session of another. The ids
 * of owners with a name become digests. An anonymous id that looks like one becomes a digest too.
 */
function remoteKwargs(kwargs: Query['kwargs'], owner: string): Query['kwargs'] {
  const { session_id: id } = kwargs;
  if (typeof id !== 'string' || (owner === 'anonymous' && !/^[0-9a-f]{64}$/.test(id))) return kwargs;
  return { ...kwargs, session_id: createHash('sha256').update(`${owner}\0${id}`).digest('hex') };
}
