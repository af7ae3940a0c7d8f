import {
  ArrayNotEmpty,
  IsArray,
  IsIn,
  IsObject,
  IsString,
  Matches,
  ValidateBy,
  ValidateIf,
  ValidateNested,
} from 'class-validator';
import { Base64Fault } from '../body/base64-decoder.js';
import { BodyContent } from '../files/content.js';
import type { FieldError } from 'nest-agent-query-client';
import { faultsOfMetadata, type Metadata } from '../contract/metadata.js';
import { invalidQuery } from '../contract/refusals.js';
import { faultOfFileName, faultOfMediaType } from '../contract/media-types.js';
import type { TypedKwargs } from '../options/typed-kwargs.js';
import { faultsOfDto } from './dto-faults.js';
import { withMembers } from './members.js';
import type { FilePart, Query, TextPart } from '../ports/agent-handler.js';

/** @param faultOf the rest of a sentence whose subject is the value; undefined if nothing is wrong with it */
export function HasNoFault(name: string, faultOf: (value: unknown) => string | undefined): PropertyDecorator {
  return ValidateBy({
    name,
    validator: {
      validate: (value) => faultOf(value) === undefined,
      defaultMessage: (validated) => faultOf(validated!.value)!,
    },
  });
}

function faultOfContent(value: unknown): string | undefined {
  if (value instanceof BodyContent) return undefined;
  return value instanceof Base64Fault ? `${value.reason} (at offset ${value.offset})` : 'must be a string';
}

/** A part of a type that is neither `text` nor `file`. */
class PartDto {
  @IsIn(['text', 'file'], { message: 'must be "text" or "file"' })
  type!: unknown;
}

/**
 * A text of the user's message, validated.
 *
 * @example
 * const part: TextPartDto = { type: 'text', text: 'Hello' };
 */
export class TextPartDto implements TextPart {
  type!: 'text';

  @IsString({ message: 'must be a string' })
  text!: string;
}

/**
 * A file of the user's message, validated.
 *
 * @example
 * const isFile = (part: TextPartDto | FilePartDto): part is FilePartDto => part.type === 'file';
 */
export class FilePartDto implements FilePart {
  type!: 'file';

  @HasNoFault('fileName', faultOfFileName)
  name!: string;

  @HasNoFault('mediaType', faultOfMediaType)
  mimeType!: string;

  /** The content, decoded while it arrived. Absent when the file is open, and where the query only names the content. */
  @ValidateIf(({ base64, sha256 }: FilePartDto) => base64 !== undefined || sha256 === undefined)
  @HasNoFault('content', faultOfContent)
  base64?: BodyContent;

  @ValidateIf(({ base64, sha256 }: FilePartDto) => base64 === undefined && sha256 !== undefined)
  @Matches(/^[0-9a-f]{64}$/, { message: 'must be a SHA-256: 64 lower-case hexadecimal digits' })
  sha256!: string;

  declare file: File;
  declare detectedMimeType?: string;
}

/**
 * The body of `POST {base}/query`, validated.
 *
 * @example
 * const texts = (query: QueryDto) => query.parts.filter((part) => part.type === 'text');
 */
export class QueryDto implements Query {
  @ValidateNested({ each: true, message: 'must be an object' })
  @ArrayNotEmpty({ message: 'must contain at least one part' })
  @IsArray({ message: 'must be an array of parts' })
  parts!: (TextPartDto | FilePartDto)[];

  /** What the handler is told besides the parts; an empty object where the body has none or null. */
  @IsObject({ message: 'must be an object' })
  kwargs!: Record<string, unknown>;

  /** What the caller says about the query; absent where the body has none or null. */
  declare metadata?: Metadata;
}

/** What other APIs have beside a message, and how it is written here. */
const PLACES = new Map(
  Object.entries({
    'session session_id sessionId conversation_id thread_id': '{"kwargs":{"session_id":"…"}}',
    'input message messages prompt text': '{"parts":[{"type":"text","text":"…"}]}',
    'attachments file files': '{"parts":[{"type":"file","name":"…","mimeType":"…","base64":"…"}]}',
    'args instructions kwarg max_tokens model options params temperature tools': '{"kwargs":{…}}',
    stream: 'the header "Prefer: respond-async" for an answer that does not stream',
  }).flatMap(([names, place]) => names.split(' ').map((name) => [name, place] as const)),
);

/** Returns a sentence for each member of the body of a query that is likely to be meant for another place. */
export function misplacedIn(body: object): string[] {
  const names = Object.keys(body).filter((name) => PLACES.has(name));
  return names.map((name) => `"${name}" beside "parts" is ignored. Write ${PLACES.get(name)}.`);
}

/**
 * Validates the body of a query, or throws `invalid_query` with every fault and its JSON Pointer. Members that are not part of the
 * interface are dropped.
 *
 * @param body the document as it was read, with a `BodyContent` or a `Base64Fault` as the `base64` of a part
 * @param typed the rules of the host for kwargs; undefined where it has none
 */
export async function validateQuery(body: unknown, typed: TypedKwargs | undefined): Promise<QueryDto> {
  if (!isObject(body)) {
    throw invalidQuery([{ pointer: '', detail: 'must be an object with the member "parts"' }]);
  }
  const query = new QueryDto();
  const { parts, kwargs, metadata } = body;
  query.parts = (Array.isArray(parts) ? parts.map(toPart) : parts) as QueryDto['parts'];
  query.kwargs = (kwargs ?? {}) as QueryDto['kwargs'];
  const faults = faultsOfDto(query);
  if (metadata !== undefined && metadata !== null) {
    query.metadata = metadata as Metadata;
    faults.push(...faultsOfMetadata(metadata, '/metadata'));
  }
  if (isObject(query.kwargs)) faults.push(...(await faultsOfKwargs(query.kwargs, typed)));
  if (faults.length > 0) throw invalidQuery(faults);
  return query;
}

function toPart(part: unknown): unknown {
  // class-validator accepts an array as an object.
  if (!isObject(part)) return null;
  if (part['type'] === 'text') return withMembers(new TextPartDto(), part, ['type', 'text']);
  if (part['type'] !== 'file') return withMembers(new PartDto(), part, ['type']);
  return withMembers(new FilePartDto(), part, ['type', 'name', 'mimeType', 'base64', 'sha256']);
}

async function faultsOfKwargs(
  kwargs: Record<string, unknown>,
  typed: TypedKwargs | undefined,
): Promise<FieldError[]> {
  const faults = typed ? await typed.faultsOf(kwargs) : [];
  const pointer = '/kwargs/session_id';
  const isKnown = faults.some((fault) => fault.pointer === pointer);
  if (isKnown || isSessionId(kwargs['session_id'])) return faults;
  return [{ pointer, detail: 'must be a string' }, ...faults];
}

function isSessionId(value: unknown): boolean {
  return value === undefined || value === null || typeof value === 'string';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
