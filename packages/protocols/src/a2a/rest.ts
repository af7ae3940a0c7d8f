import { Catch, Injectable } from '@nestjs/common';
import { type RefusalForm, ViewFilter } from '../view/view.js';
import { detailsOf } from './error-details.js';
import { errorOf } from './refusals.js';

/** The type of bodies and answers (A2A 1.0 §14.1). */
export const A2A_JSON = 'application/a2a+json';

/** Answers refusals as `google.rpc.Status` (A2A 1.0 §11.6). */
@Catch()
@Injectable()
export class RestFilter extends ViewFilter {
  protected override readonly form: RefusalForm = (problem) => {
    const { status: code, detail: message, code: name } = problem;
    const { status } = errorOf(name, code);
    const error = { code, status, message, details: detailsOf(problem) };
    return { status: code, contentType: A2A_JSON, body: { error } };
  };
}
