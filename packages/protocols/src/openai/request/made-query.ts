import type { MadeQuery } from 'nest-agent-query/protocol';
import type { SentPart } from './content.js';

type Members = Record<string, unknown>;

export interface PlacedQuery {
  query: MadeQuery;
  /** Where the body has what the query has at a JSON Pointer. */
  pointerOf: (pointer: string) => string;
}

/** @param kwargs see `kwargsOf` */
export function madeQuery(body: Members, parts: SentPart[], kwargs: Members): PlacedQuery {
  const own = (body['kwargs'] ?? {}) as Members;
  return {
    query: { parts, kwargs, ...metadataOf(body) },
    pointerOf: (pointer) => {
      const [, list, name = '', ...rest] = pointer.split('/');
      if (list === 'parts') return parts[Number(name)]?.pointer ?? '';
      // The schema of a tool has another name there.
      if (list !== 'kwargs' || Object.hasOwn(own, name)) return pointer;
      return ['', name, ...rest.map((each) => (each === 'inputSchema' ? 'parameters' : each))].join('/');
    },
  };
}

/** Metadata that is not valid is refused with the query. */
function metadataOf({ metadata }: Members): Pick<MadeQuery, 'metadata'> {
  return metadata === undefined ? {} : { metadata: metadata as Record<string, string> };
}
