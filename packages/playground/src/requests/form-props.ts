import type { FieldError } from 'nest-agent-query-client';
import type { Asked } from '../answer/answer-view.js';
import type { Draft } from './form-values.js';

/** What the form of a request is given. */
export interface FormProps {
  request: Asked['request'];
  draft: Draft;
  onDraft: (draft: Draft) => void;
  /** What is wrong with the answer, as the page or the service says. */
  faults: FieldError[];
  /** Sends the value of the answer, unless there are faults. */
  onSend: (value: unknown, faults?: FieldError[]) => void;
  isSending: boolean;
}
