import { ArrayMaxSize, ArrayNotEmpty, IsArray, IsIn, IsString, ValidateNested } from 'class-validator';
import type { InputAnswer } from 'nest-agent-query-client';
import { invalidAnswer } from '../contract/refusals.js';
import { faultsOfDto } from './dto-faults.js';
import { withMembers } from './members.js';

/** How many requests one call answers at most: those of one pause. */
const ANSWERS = 64;

/** The answer to one request. Its `value` is compared with the request later. */
class AnswerDto implements InputAnswer {
  @IsString({ message: 'must be a string' })
  id!: string;

  @IsIn(['answered', 'declined'], { message: 'must be "answered" or "declined"' })
  outcome!: InputAnswer['outcome'];

  value?: unknown;
}

/** The body of `POST {base}/query/{runId}/inputs`. */
export class AnswersDto {
  @ValidateNested({ each: true, message: 'must be an object' })
  @ArrayMaxSize(ANSWERS, { message: `must contain at most ${ANSWERS} answers` })
  @ArrayNotEmpty({ message: 'must contain at least one answer' })
  @IsArray({ message: 'must be an array of answers' })
  answers!: AnswerDto[];
}

/** Validates the body, or throws `invalid_answer` with every fault and its JSON Pointer. */
export function validateAnswers(body: unknown): AnswersDto {
  const dto = new AnswersDto();
  const { answers } = (typeof body === 'object' && body !== null ? body : {}) as { answers?: unknown };
  dto.answers = (Array.isArray(answers) ? answers.map(toAnswer) : answers) as AnswerDto[];
  const faults = faultsOfDto(dto);
  const seen = new Set<string>();
  if (faults.length === 0)
    for (const [index, { id }] of dto.answers.entries()) {
      if (seen.has(id)) faults.push({ pointer: `/answers/${index}/id`, detail: 'is answered twice' });
      seen.add(id);
    }
  if (faults.length > 0) throw invalidAnswer(faults);
  return dto;
}

function toAnswer(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return null;
  const dto = withMembers(new AnswerDto(), answer, ['id', 'outcome']);
  const { value } = answer as InputAnswer;
  return Object.assign(dto, value !== undefined && { value });
}
