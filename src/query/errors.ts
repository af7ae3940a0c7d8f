/** The closed list of codes that a caller can meet. */
export type ErrorCode =
  | 'invalid_json'
  | 'invalid_query'
  | 'limit_exceeded'
  | 'unsupported_media_type'
  | 'unsupported_encoding'
  | 'body_timeout'
  | 'storage_full';

/** An error whose text may be shown to a caller. */
export class QueryError extends Error {
  constructor(
    readonly code: ErrorCode,
    readonly detail: string,
    readonly extra?: {
      errors?: { pointer: string; detail: string }[];
      limit?: string;
      value?: number;
      part?: number;
    },
  ) {
    super(detail);
    this.name = 'QueryError';
  }
}
