import { ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { QueryFailure, QueryRunEnd, TURN_ENVELOPES } from './envelope-models.js';

/*
 * The JSON of the interface as schemas of the document. Each name begins with `Query`, so that it is unlikely that a host has a
 * model of the same name.
 */

/** The schema of a union that a member tells apart. */
export function unionOf(member: string, models: Record<string, new () => object>) {
  const mapping = Object.fromEntries(
    Object.entries(models).map(([value, model]) => [value, getSchemaPath(model)]),
  );
  return {
    oneOf: Object.values(mapping).map(($ref) => ({ $ref })),
    discriminator: { propertyName: member, mapping },
  };
}

const time = (description: string) => ({ type: 'string', format: 'date-time', description }) as const;
const sha256 = { type: 'string', pattern: '^[0-9a-f]{64}$' } as const;

export class QueryTextPart {
  @ApiProperty({ enum: ['text'] })
  type!: 'text';

  @ApiProperty({ type: 'string' })
  text!: string;
}

export class QueryFilePart {
  @ApiProperty({ enum: ['file'] })
  type!: 'file';

  @ApiProperty({
    type: 'string',
    minLength: 1,
    maxLength: 255,
    description: 'A label with its extension, never a path: at most 255 bytes.',
    example: 'notes.txt',
  })
  name!: string;

  @ApiProperty({ type: 'string', maxLength: 255, example: 'text/plain' })
  mimeType!: string;

  @ApiProperty({ type: 'string', format: 'byte', description: 'RFC 4648 §4, without line breaks.' })
  base64!: string;
}

export class QueryRun {
  @ApiProperty({ type: 'string' })
  id!: string;

  @ApiProperty({ enum: ['waiting', 'running', 'completed', 'failed', 'cancelled'] })
  status!: string;

  @ApiProperty({ type: 'string', nullable: true, description: 'kwargs.session_id of the query.' })
  session!: string | null;

  @ApiProperty(time('When the query was admitted.'))
  createdAt!: string;

  @ApiProperty({ ...time('When the handler was called.'), nullable: true })
  startedAt!: string | null;

  @ApiProperty({ ...time('When the run ended.'), nullable: true })
  endedAt!: string | null;

  @ApiProperty({ type: 'integer', minimum: 0, description: 'The envelopes so far, `done` included.' })
  events!: number;

  @ApiPropertyOptional({ type: QueryFailure, description: 'Present where the run has failed.' })
  error?: QueryFailure;
}

/** Of a text that a page shows cut. */
class QueryCutText {
  @ApiPropertyOptional({
    enum: [true],
    description: 'Present where only the beginning of the text is shown.',
  })
  truncated?: true;

  @ApiPropertyOptional({ type: 'integer', description: 'Bytes of the whole text as UTF-8.' })
  size?: number;

  @ApiPropertyOptional({
    ...sha256,
    description: 'Of the whole text as UTF-8; names it among the files of the run.',
  })
  sha256?: string;
}

export class QueryTurnText extends QueryCutText {
  @ApiProperty({ enum: ['text'] })
  type!: 'text';

  @ApiProperty({ type: 'string' })
  text!: string;
}

export class QueryTurnFile {
  @ApiProperty({ enum: ['file'] })
  type!: 'file';

  @ApiProperty({ type: 'string' })
  name!: string;

  @ApiProperty({ type: 'string' })
  mimeType!: string;

  @ApiProperty({ type: 'integer', description: 'Bytes.' })
  size!: number;

  @ApiProperty(sha256)
  sha256!: string;
}

class QueryTurn extends QueryCutText {
  @ApiProperty({ type: 'string' })
  runId!: string;

  @ApiProperty({ type: 'array', items: unionOf('type', { text: QueryTurnText, file: QueryTurnFile }) })
  parts!: object[];

  @ApiProperty({ type: 'string', description: 'The text of the answer.' })
  text!: string;

  @ApiProperty({
    type: 'array',
    items: unionOf('type', TURN_ENVELOPES),
    description:
      'Neighbouring parts of a message are one. Where `text` is cut, the contents of the messages end where it ends.',
  })
  envelopes!: object[];

  @ApiPropertyOptional({
    enum: [true],
    description: 'Present where the answer has more envelopes: a turn keeps 1 MiB of them.',
  })
  envelopesTruncated?: true;

  @ApiProperty({ type: QueryRunEnd })
  end!: QueryRunEnd;

  @ApiProperty(time('When the query was admitted.'))
  createdAt!: string;

  @ApiProperty(time('When the run ended.'))
  endedAt!: string;
}

const NEXT = {
  type: 'string',
  nullable: true,
  description: '`after` of the next page; null at the end.',
} as const;
const ACTIVE = { type: 'string', nullable: true, description: 'The id of the run that executes.' } as const;

export class QueryRunList {
  @ApiProperty({ type: [QueryRun], description: 'Newest first.' })
  runs!: QueryRun[];

  @ApiProperty(NEXT)
  next!: string | null;
}

class QuerySession {
  @ApiProperty({ type: 'string' })
  id!: string;

  @ApiProperty({
    type: 'string',
    nullable: true,
    maxLength: 80,
    description: 'The beginning of its first text.',
  })
  title!: string | null;

  @ApiProperty({ type: 'integer', minimum: 0, description: 'The number of its newest turn.' })
  turns!: number;

  @ApiProperty(time('When it was last used.'))
  updatedAt!: string;

  @ApiProperty(ACTIVE)
  active!: string | null;
}

export class QuerySessionList {
  @ApiProperty({ type: [QuerySession], description: 'Last used first.' })
  sessions!: QuerySession[];

  @ApiProperty(NEXT)
  next!: string | null;
}

export class QuerySessionPage {
  @ApiProperty({ type: 'string' })
  id!: string;

  @ApiProperty(ACTIVE)
  active!: string | null;

  @ApiProperty({ type: 'integer', minimum: 0, description: 'How many runs wait in its queue.' })
  waiting!: number;

  @ApiProperty({ type: [QueryTurn], description: 'Oldest first.' })
  turns!: QueryTurn[];

  @ApiProperty({ type: 'integer', nullable: true, description: '`after` of the next page; null at the end.' })
  next!: number | null;
}

class QueryFieldError {
  @ApiProperty({ type: 'string', description: 'A JSON Pointer (RFC 6901).', example: '/parts/0/base64' })
  pointer!: string;

  @ApiProperty({ type: 'string', example: 'must be a string' })
  detail!: string;
}

/** RFC 9457. */
export class QueryProblem {
  @ApiProperty({ type: 'string', example: 'about:blank' })
  type!: string;

  @ApiProperty({ type: 'string', description: 'The phrase of the status.' })
  title!: string;

  @ApiProperty({ type: 'integer' })
  status!: number;

  @ApiProperty({ type: 'string', description: 'A sentence for people.' })
  detail!: string;

  @ApiProperty({ type: 'string', description: 'Tells the errors apart. Codes are added, never changed.' })
  code!: string;

  @ApiPropertyOptional({ type: [QueryFieldError], description: 'All faults of the body.' })
  errors?: QueryFieldError[];

  @ApiPropertyOptional({ type: 'string', description: '`limit_exceeded`: the name of the limit.' })
  limit?: string;

  @ApiPropertyOptional({ type: 'number', description: '`limit_exceeded`: its value.' })
  value?: number;

  @ApiPropertyOptional({ type: 'integer', description: '`limit_exceeded`: the index of the part.' })
  part?: number;

  @ApiPropertyOptional({ type: 'integer', description: '`cursor_expired`: the oldest event that is kept.' })
  oldest?: number;

  @ApiPropertyOptional({ type: 'integer', description: '`cursor_expired`: the newest event.' })
  latest?: number;

  @ApiPropertyOptional({ type: 'integer', description: '`range_not_satisfiable`: the bytes of the file.' })
  size?: number;
}
