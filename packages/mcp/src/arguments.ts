import { createHash } from 'node:crypto';
import type { Tool } from '@modelcontextprotocol/server';
import { type MadeQuery, invalidQuery, placesOf } from 'nest-agent-query/protocol';
import { isObject } from './json.js';

type Part = MadeQuery['parts'][number];

/** Where a body has what is counted or decoded while it arrives. */
export const PLACES = placesOf({
  'params.arguments.text': 'text',
  'params.arguments.files.*.base64': 'base64',
});

export const INPUT_SCHEMA: Tool['inputSchema'] = {
  type: 'object',
  properties: {
    text: { type: 'string', description: 'What the agent is asked or told.' },
    files: {
      type: 'array',
      description: 'Files for the agent. Default: none.',
      items: {
        type: 'object',
        properties: {
          name: { type: 'string', description: 'The name of the file, with its extension.' },
          mimeType: { type: 'string', description: 'The media type, such as text/csv.' },
          base64: { type: 'string', description: 'The content in base64 (RFC 4648 §4).' },
        },
        required: ['name', 'mimeType', 'base64'],
      },
    },
    kwargs: {
      type: 'object',
      description:
        'Further values for the agent. Calls with the same "session_id" belong to one conversation. Default: none.',
    },
  },
  required: ['text'],
};

export interface PlacedQuery {
  query: MadeQuery;
  /** Where the parameters of the call have what the query has at a JSON Pointer. */
  pointerOf: (pointer: string) => string;
}

/**
 * Makes a query of the arguments of a call. What the members of a file are, is for the endpoint to check.
 *
 * @throws {QueryError} `invalid_query`
 */
export function queryOf(given: unknown): PlacedQuery {
  const { text, files, kwargs } = membersOf(given ?? {});
  const texts: Part[] = text === undefined ? [] : [{ type: 'text', text }];
  return {
    query: { parts: [...texts, ...files.map(filePartOf)], kwargs },
    pointerOf: (pointer) => pointerIn(pointer, texts.length),
  };
}

/** The same for two calls with the same arguments. Contents of files count by their digests. */
export function digestOfArguments(given: unknown): string {
  const json = JSON.stringify(given ?? {}, (name, value: unknown) =>
    name === 'base64' && isObject(value) ? value['sha256'] : value,
  );
  return createHash('sha256').update(json).digest('hex');
}

function membersOf(given: unknown) {
  if (!isObject(given)) throw fault('/arguments', 'must be an object');
  const { text, files, kwargs } = given;
  if (text !== undefined && text !== null && typeof text !== 'string')
    throw fault('/arguments/text', 'must be a string');
  if (files !== undefined && files !== null && !Array.isArray(files))
    throw fault('/arguments/files', 'must be an array of files');
  if (kwargs !== undefined && kwargs !== null && !isObject(kwargs))
    throw fault('/arguments/kwargs', 'must be an object');
  return { text: text ?? undefined, files: (files ?? []) as unknown[], kwargs: kwargs ?? {} };
}

function filePartOf(file: unknown, index: number): Part {
  if (!isObject(file))
    throw fault(`/arguments/files/${index}`, 'must be an object with "name", "mimeType" and "base64"');
  const { name, mimeType, base64 } = file;
  return { type: 'file', name: name as string, mimeType: mimeType as string, base64 };
}

/** @param texts how many parts come before those of the files */
function pointerIn(pointer: string, texts: number): string {
  const [, list, index, ...rest] = pointer.split('/');
  if (list !== 'parts') return `/arguments${pointer}`;
  if (index === undefined) return '/arguments';
  if (Number(index) < texts) return '/arguments/text';
  return ['/arguments/files', Number(index) - texts, ...rest].join('/');
}

function fault(pointer: string, detail: string) {
  return invalidQuery([{ pointer, detail }]);
}
