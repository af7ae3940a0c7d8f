/** The agent of a service that is measured: does what the plan in the text of the query says (`work.mjs`). */
import { Observable } from 'rxjs';
import { push } from './work.mjs';

export default function answer({ parts }) {
  return new Observable((subscriber) =>
    push(
      parts[0].text,
      (content) => subscriber.next({ type: 'message', data: { content } }),
      () => subscriber.complete(),
    ),
  );
}
