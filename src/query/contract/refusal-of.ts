import { HttpException } from '@nestjs/common';
import type { ErrorCode, HostCode } from 'nest-agent-query-client';
import { QueryError } from './errors.js';

/** What a caller who is refused is answered: the code, and the status of the response. */
export interface Refusal {
  code: ErrorCode | HostCode;
  status: number;
}

/** The codes of exceptions of the host, for example of its guards, whose status has one meaning only. */
const CODE_OF_STATUS: Record<number, ErrorCode> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  415: 'unsupported_media_type',
  429: 'rate_limited',
  503: 'unavailable',
};

/** The refusal that an error stands for. An exception of the host keeps its status; any other error is `internal`. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof QueryError) return { code: error.code, status: error.status };
  if (!(error instanceof HttpException)) return { code: 'internal', status: 500 };
  const status = error.getStatus();
  return { code: CODE_OF_STATUS[status] ?? (status < 500 ? 'refused' : 'internal'), status };
}
