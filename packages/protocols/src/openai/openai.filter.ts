import { Catch, Injectable } from '@nestjs/common';
import type { ProblemForm } from 'nest-agent-query/protocol';
import { paramOf } from '../view/json.js';
import { ViewFilter } from '../view/view.js';

/** Answers refusals as OpenAI does: `{ "error": { "message", "type", "param", "code" } }`. */
@Catch()
@Injectable()
export class OpenAiFilter extends ViewFilter {
  protected override readonly form: ProblemForm = ({ status, detail, code, errors = [] }) => {
    const [first] = errors;
    const param = first?.pointer ? paramOf(first.pointer) : null;
    const error = { message: detail, type: typeOf(status), param, code };
    return { status, contentType: 'application/json; charset=utf-8', body: { error } };
  };
}

function typeOf(status: number): string {
  if (status >= 500) return 'server_error';
  const types: Record<number, string> = {
    401: 'authentication_error',
    403: 'permission_error',
    429: 'rate_limit_error',
  };
  return types[status] ?? 'invalid_request_error';
}
