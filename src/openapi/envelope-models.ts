import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

/* The envelopes of a stream as schemas of the document. */

class QueryMessage {
  @ApiProperty({ type: 'string' })
  content!: string;

  @ApiPropertyOptional({ type: 'string', description: 'Neighbouring parts with one id belong together.' })
  id?: string;
}

export class QueryMessageEnvelope {
  @ApiProperty({ enum: ['message'], description: 'A part of the text of the answer.' })
  type!: 'message';

  @ApiProperty({ type: QueryMessage })
  data!: QueryMessage;
}

class QueryLog {
  @ApiProperty({ type: 'string' })
  message!: string;
}

export class QueryLogEnvelope {
  @ApiProperty({ enum: ['log'], description: 'Diagnostics or progress.' })
  type!: 'log';

  @ApiProperty({ type: QueryLog })
  data!: QueryLog;
}

export class QueryReasoningEnvelope {
  @ApiProperty({ enum: ['reasoning'], description: 'A part of the reasoning that the model shows.' })
  type!: 'reasoning';

  @ApiProperty({ type: QueryMessage })
  data!: QueryMessage;
}

class QueryToolCall {
  @ApiProperty({ type: 'string', description: 'Its result has the same id.' })
  id!: string;

  @ApiProperty({ type: 'string' })
  name!: string;

  @ApiProperty({ description: 'Any JSON value.' })
  arguments!: unknown;
}

export class QueryToolCallEnvelope {
  @ApiProperty({ enum: ['tool_call'], description: 'The agent calls a tool.' })
  type!: 'tool_call';

  @ApiProperty({ type: QueryToolCall })
  data!: QueryToolCall;
}

class QueryToolResult {
  @ApiProperty({ type: 'string', description: 'That of the call.' })
  id!: string;

  @ApiProperty({ description: 'Any JSON value.' })
  content!: unknown;

  @ApiPropertyOptional({ type: 'boolean', description: 'Whether the call has failed.' })
  isError?: boolean;
}

export class QueryToolResultEnvelope {
  @ApiProperty({ enum: ['tool_result'], description: 'What a tool has returned.' })
  type!: 'tool_result';

  @ApiProperty({ type: QueryToolResult })
  data!: QueryToolResult;
}

class QueryAnswerFile {
  @ApiProperty({ type: 'string' })
  name!: string;

  @ApiProperty({ type: 'string' })
  mimeType!: string;

  @ApiProperty({ type: 'integer', minimum: 0, description: 'Bytes.' })
  size!: number;

  @ApiProperty({ type: 'string', pattern: '^[0-9a-f]{64}$', description: 'Of the content, SHA-256.' })
  sha256!: string;

  @ApiProperty({ type: 'string', description: '`GET` returns the content.' })
  path!: string;
}

export class QueryFileEnvelope {
  @ApiProperty({ enum: ['file'], description: 'A file of the answer.' })
  type!: 'file';

  @ApiProperty({ type: QueryAnswerFile })
  data!: QueryAnswerFile;
}

class QuerySource {
  @ApiProperty({ type: 'string' })
  url!: string;

  @ApiPropertyOptional({ type: 'string', description: 'For people.' })
  title?: string;
}

export class QuerySourceEnvelope {
  @ApiProperty({ enum: ['source'], description: 'A source of the answer.' })
  type!: 'source';

  @ApiProperty({ type: QuerySource })
  data!: QuerySource;
}

class QueryProgress {
  @ApiProperty({ type: 'number', minimum: 0 })
  done!: number;

  @ApiPropertyOptional({ type: 'number', minimum: 0 })
  total?: number;

  @ApiPropertyOptional({ type: 'string', description: 'What is counted.' })
  unit?: string;

  @ApiPropertyOptional({ type: 'string', description: 'What the work is.' })
  label?: string;
}

export class QueryProgressEnvelope {
  @ApiProperty({ enum: ['progress'], description: 'How far long work has come.' })
  type!: 'progress';

  @ApiProperty({ type: QueryProgress })
  data!: QueryProgress;
}

class QueryUsage {
  @ApiProperty({ type: 'number', minimum: 0 })
  inputTokens!: number;

  @ApiProperty({ type: 'number', minimum: 0 })
  outputTokens!: number;

  @ApiPropertyOptional({ type: 'number', minimum: 0 })
  reasoningTokens?: number;

  @ApiPropertyOptional({ type: 'number', minimum: 0 })
  cachedInputTokens?: number;

  @ApiPropertyOptional({ type: 'string', description: 'The name of the model.' })
  model?: string;
}

export class QueryUsageEnvelope {
  @ApiProperty({
    enum: ['usage'],
    description: 'What the models have used since the last envelope of this type.',
  })
  type!: 'usage';

  @ApiProperty({ type: QueryUsage })
  data!: QueryUsage;
}

export class QueryFailure {
  @ApiProperty({ type: 'string', example: 'handler_failed' })
  code!: string;

  @ApiProperty({ type: 'string', description: 'A sentence for people.' })
  message!: string;
}

export class QueryRunEnd {
  @ApiProperty({ enum: ['completed', 'failed', 'cancelled'] })
  status!: string;

  @ApiPropertyOptional({ type: QueryFailure, description: 'Present where the run has failed.' })
  error?: QueryFailure;
}

export class QueryDoneEnvelope {
  @ApiProperty({ enum: ['done'], description: 'The end of the stream: a stream without it was cut.' })
  type!: 'done';

  @ApiProperty({ type: QueryRunEnd })
  data!: QueryRunEnd;
}

export class QueryOtherEnvelope {
  @ApiProperty({ type: 'string', description: 'Ignore the types that you do not know.' })
  type!: string;

  @ApiProperty({ description: 'Any JSON value.' })
  data!: unknown;
}

/** The envelopes that a turn keeps, by their types. */
export const TURN_ENVELOPES = {
  message: QueryMessageEnvelope,
  reasoning: QueryReasoningEnvelope,
  tool_call: QueryToolCallEnvelope,
  tool_result: QueryToolResultEnvelope,
  file: QueryFileEnvelope,
  source: QuerySourceEnvelope,
  usage: QueryUsageEnvelope,
};
