import { plainToInstance, Expose } from 'class-transformer';
import {
  ArrayNotEmpty,
  IsArray,
  IsIn,
  IsObject,
  IsOptional,
  IsString,
  Validate,
  ValidateNested,
  type ValidationArguments,
  type ValidationError,
  ValidatorConstraint,
  type ValidatorConstraintInterface,
  validateSync,
} from 'class-validator';
import { Base64Fault } from '../body/base64-decoder.js';
import { FileContent } from '../files/contents.js';
import { QueryError, type FieldError } from '../contract/errors.js';

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const PARAMETER = `${TOKEN}=(?:${TOKEN}|"(?:[^"\\\\]|\\\\.)*")`;
/** RFC 9110 §8.3.1 */
const MEDIA_TYPE = new RegExp(`^${TOKEN}/${TOKEN}(?:[ \\t]*;[ \\t]*${PARAMETER})*$`);

@ValidatorConstraint({ name: 'fileName' })
class FileNameRule implements ValidatorConstraintInterface {
  validate(value: unknown): boolean {
    return typeof value === 'string' && faultOfName(value) === undefined;
  }

  defaultMessage({ value }: ValidationArguments): string {
    return typeof value === 'string' ? faultOfName(value)! : 'must be a string';
  }
}

function faultOfName(name: string): string | undefined {
  if (name === '') return 'must not be empty';
  if (Buffer.byteLength(name) > 255) return 'must be at most 255 bytes long';
  if (/[/\\]/.test(name)) return 'must not contain "/" or "\\": it is a label, not a path';
  if (/\p{Cc}/u.test(name)) return 'must not contain control characters';
  return undefined;
}

@ValidatorConstraint({ name: 'mediaType' })
class MediaTypeRule implements ValidatorConstraintInterface {
  validate(value: unknown): boolean {
    return typeof value === 'string' && value.length <= 255 && MEDIA_TYPE.test(value);
  }

  defaultMessage({ value }: ValidationArguments): string {
    if (typeof value !== 'string') return 'must be a string';
    return 'must be a media type such as "text/csv", at most 255 characters long';
  }
}

@ValidatorConstraint({ name: 'content' })
class ContentRule implements ValidatorConstraintInterface {
  validate(value: unknown): boolean {
    return value instanceof FileContent;
  }

  defaultMessage({ value }: ValidationArguments): string {
    return value instanceof Base64Fault ? `${value.reason} (at offset ${value.offset})` : 'must be a string';
  }
}

/** A part of a type that is neither `text` nor `file`. */
class PartDto {
  @Expose()
  @IsIn(['text', 'file'], { message: 'must be "text" or "file"' })
  type!: unknown;
}

/** A text of the user's message. */
export class TextPartDto {
  @Expose()
  type!: 'text';

  @Expose()
  @IsString({ message: 'must be a string' })
  text!: string;
}

/** A file of the user's message. */
export class FilePartDto {
  @Expose()
  type!: 'file';

  @Expose()
  @Validate(FileNameRule)
  name!: string;

  @Expose()
  @Validate(MediaTypeRule)
  mimeType!: string;

  /** The content, decoded while it arrived. */
  @Validate(ContentRule)
  base64!: FileContent;
}

class KwargsRule {
  @IsOptional()
  @IsString({ message: 'must be a string' })
  session_id?: string;
}

/** The body of `POST {base}/query`. */
export class QueryDto {
  @ValidateNested({ each: true, message: 'must be an object' })
  @ArrayNotEmpty({ message: 'must hold at least one part' })
  @IsArray({ message: 'must be an array of parts' })
  parts!: (TextPartDto | FilePartDto)[];

  @IsOptional()
  @IsObject({ message: 'must be an object' })
  kwargs?: Record<string, unknown> | null | undefined;
}

/**
 * Validates the body of a query. Members that the interface does not know are left out.
 *
 * @param body the document as it was read, with `FileContent` or `Base64Fault` where the base64 of a part stood
 * @throws {QueryError} `invalid_query` with every fault and its pointer
 */
export function validateQuery(body: unknown): QueryDto {
  if (!isObject(body)) {
    throw invalid([{ pointer: '', detail: 'must be an object with the member "parts"' }]);
  }
  const query = new QueryDto();
  query.parts = (
    Array.isArray(body['parts']) ? body['parts'].map(toPart) : body['parts']
  ) as QueryDto['parts'];
  query.kwargs = body['kwargs'] as QueryDto['kwargs'];
  const faults = faultsOf(validateSync(query, { stopAtFirstError: true, forbidUnknownValues: false }), '');
  if (isObject(query.kwargs)) faults.push(...faultsOfKwargs(query.kwargs));
  if (faults.length > 0) throw invalid(faults);
  return query;
}

function toPart(part: unknown): unknown {
  // class-validator would take an array for an object.
  if (!isObject(part)) return null;
  const { base64, ...rest } = part;
  const options = { excludeExtraneousValues: true };
  if (rest['type'] === 'text') return plainToInstance(TextPartDto, rest, options);
  if (rest['type'] !== 'file') return plainToInstance(PartDto, rest, options);
  // Set afterwards: class-transformer would copy the content.
  return Object.assign(plainToInstance(FilePartDto, rest, options), { base64 });
}

function faultsOfKwargs(kwargs: Record<string, unknown>): FieldError[] {
  if (!Object.hasOwn(kwargs, 'session_id')) return [];
  const rule = new KwargsRule();
  rule.session_id = kwargs['session_id'] as string;
  return faultsOf(validateSync(rule, { stopAtFirstError: true }), '/kwargs');
}

function faultsOf(errors: ValidationError[], parent: string): FieldError[] {
  return errors.flatMap(({ property, constraints, children }) => {
    const pointer = `${parent}/${property}`;
    const own = Object.values(constraints ?? {}).map((detail) => ({ pointer, detail }));
    return [...own, ...faultsOf(children ?? [], pointer)];
  });
}

function invalid(errors: FieldError[]): QueryError {
  const [first] = errors;
  const where = first?.pointer ? `"${first.pointer}" ` : 'The body ';
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return new QueryError('invalid_query', `${where}${first?.detail}${more}.`, { errors });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
