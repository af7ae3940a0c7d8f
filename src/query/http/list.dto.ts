import { applyDecorators } from '@nestjs/common';
import { getMetadataStorage, IsIn, IsInt, IsOptional, IsString, Max, Min } from 'class-validator';
import type { RunStatus } from 'nest-agent-query-client';
import { faultsOfMetadata, type Metadata } from '../contract/metadata.js';
import { invalidParameters } from '../contract/refusals.js';
import { positionOf } from '../contract/list-page.js';
import type { UsageGroup } from '../ports/usage-store.js';
import { PAGE_ENTRIES } from '../runs/lists.js';
import { faultsOfDto } from './dto-faults.js';
import { HasNoFault } from './query.dto.js';

const USAGE_GROUPS: UsageGroup[] = ['session', 'model', 'day'];
const STATUSES: RunStatus[] = ['waiting', 'running', 'input_required', 'completed', 'failed', 'cancelled'];

const METADATA_PREFIX = 'metadata.';

/** The rule of a property that has a default: `validated` reads its digits as a number. */
function WholeNumber(min: number, max: number): PropertyDecorator {
  const message = `must be a whole number from ${min} to ${max}`;
  return applyDecorators(Max(max, { message }), Min(min, { message }), IsInt({ message }));
}

function faultOfCursor(value: unknown): string | undefined {
  const isCursor = typeof value === 'string' && positionOf(value) !== undefined;
  return isCursor ? undefined : 'must be "next" of the page before';
}

function faultOfDay(value: unknown): string | undefined {
  const time = typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) ? Date.parse(value) : NaN;
  const isDay = !Number.isNaN(time) && new Date(time).toISOString().startsWith(value as string);
  return isDay ? undefined : 'must be a day such as 2026-11-25';
}

/** The parameters of `GET {base}/query/sessions`. */
export class ListDto {
  @WholeNumber(1, 500)
  limit: number = PAGE_ENTRIES;

  /** Where the page begins. */
  @HasNoFault('cursor', faultOfCursor)
  @IsOptional()
  after?: string;
}

/** The parameters of `GET {base}/query`. */
class RunListDto extends ListDto {
  @IsString({ message: 'must occur once' })
  @IsOptional()
  session?: string;

  @IsIn(STATUSES, { message: `must be one of ${STATUSES.join(', ')}` })
  @IsOptional()
  status?: RunStatus;

  /** The entries that the runs have: `?metadata.team=sales`. */
  @HasNoFault('metadata', (value) => faultsOfMetadata(value, '')[0]?.detail)
  @IsOptional()
  metadata?: Metadata;
}

/** Reads the parameters of `GET {base}/query`, or throws `invalid_query` with all faults. */
export function runListOf(parameters: object): RunListDto {
  return validated(RunListDto, { ...parameters, metadata: metadataIn(parameters) });
}

function metadataIn(parameters: object): unknown {
  const named = Object.entries(parameters).filter(([name]) => name.startsWith(METADATA_PREFIX));
  const entries = named.map(([name, text]) => [name.slice(METADATA_PREFIX.length), text] as const);
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}

/** The parameters of `GET {base}/query/usage`. */
export class UsageDto extends ListDto {
  @IsIn(USAGE_GROUPS, { message: `must be one of ${USAGE_GROUPS.join(', ')}` })
  by: UsageGroup = 'day';

  @HasNoFault('day', faultOfDay)
  @IsOptional()
  from?: string;

  @HasNoFault('day', faultOfDay)
  @IsOptional()
  to?: string;

  @IsString({ message: 'must occur once' })
  @IsOptional()
  session?: string;
}

/** The parameters of `GET {base}/query/sessions/{session_id}`. */
export class TurnsDto {
  @WholeNumber(1, 500)
  limit: number = PAGE_ENTRIES;

  /** How many turns to skip. */
  @WholeNumber(0, Number.MAX_SAFE_INTEGER)
  after: number = 0;
}

/** The parameters of `DELETE {base}/query/{runId}`. */
export class CancelDto {
  /** Whether the run is erased: `?erase`. */
  @IsIn(['', 'true', 'false'], { message: 'must be true or false; without a value it is true' })
  erase: '' | 'true' | 'false' = 'false';
}

/** Reads the parameters of a URL as a DTO, or throws `invalid_query` with all faults. Other parameters are ignored. */
export function validated<T extends object>(dto: new () => T, parameters: object): T {
  const list = new dto() as T & Record<string, unknown>;
  const rules = getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);
  // class-transformer would take a parameter "constructor" inside of another one for the class of that value.
  for (const name of new Set(rules.map(({ propertyName }) => propertyName))) {
    const value = Object.hasOwn(parameters, name) ? (parameters as typeof list)[name] : undefined;
    const isNumber = typeof list[name] === 'number' && typeof value === 'string' && /^\d{1,16}$/.test(value);
    if (value !== undefined) Object.assign(list, { [name]: isNumber ? Number(value) : value });
  }
  const faults = faultsOfDto(list);
  if (faults.length > 0) throw invalidParameters(faults);
  return list;
}
