import { IsInt, IsOptional, Min } from 'class-validator';
import { invalidQuery } from '../contract/refusals.js';
import { faultsOfDto } from './dto-faults.js';
import { withMembers } from './members.js';
import { HasNoFault } from './query.dto.js';

const WHOLE_NUMBER = { message: 'must be a whole number from 0' };

function faultOfNewId(value: unknown): string | undefined {
  // A lone surrogate and a segment of dots would have no path.
  const isId = typeof value === 'string' && /^(?!\.{1,2}$)[^\p{Cs}]{1,255}$/su.test(value);
  return isId ? undefined : 'must be a string of 1 to 255 characters that a path can have';
}

/** The body of `POST {base}/query/sessions/{session_id}/fork`. */
export class ForkDto {
  /** How many turns the new session begins with. */
  @Min(0, WHOLE_NUMBER)
  @IsInt(WHOLE_NUMBER)
  afterTurn!: number;

  /** The id of the new session; null counts as absent. */
  @HasNoFault('sessionId', faultOfNewId)
  @IsOptional()
  session_id?: string | null;
}

/** Validates the body, or throws `invalid_query` with every fault and its JSON Pointer. */
export function validateFork(body: unknown): ForkDto {
  const given = typeof body === 'object' && !Array.isArray(body) ? body : {};
  const dto = withMembers(new ForkDto(), given ?? {}, ['afterTurn', 'session_id']);
  const faults = faultsOfDto(dto);
  if (faults.length > 0) throw invalidQuery(faults);
  return dto;
}
