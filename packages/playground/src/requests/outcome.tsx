import type { InputRequest, ResolvedInput } from 'nest-agent-query-client';
import { shownJson, timeAgo } from '../text.js';
import { answererOf } from './answerer.js';

interface Props {
  request: InputRequest;
  /** Absent if the run has ended, and its log does not say. */
  resolved: ResolvedInput | undefined;
}

/** What was answered, by whom and when. */
export function Outcome({ request, resolved }: Props) {
  if (!resolved) return <p class="outcome">Not answered.</p>;
  const { by, at } = resolved;
  const { title, text, value } = shownOf(request, resolved);
  return (
    <div class="outcome">
      <p>
        <strong>{title}</strong>
        {answererOf(by)}, <time dateTime={at}>{timeAgo(at)}</time>.{text !== undefined && ` ${text}`}
      </p>
      {value !== undefined && <pre tabindex={0}>{shownJson(value)}</pre>}
    </div>
  );
}

interface Shown {
  title: string;
  /** What is said of it. */
  text?: string | undefined;
  /** What is shown as JSON. */
  value?: unknown;
}

function shownOf(request: InputRequest, { outcome, value }: ResolvedInput): Shown {
  switch (outcome) {
    case 'answered':
      return answerOf(request, value);
    case 'declined':
      return { title: 'Not answered', text: 'The person did not want to.' };
    case 'expired':
      return { title: 'Expired', text: 'Nobody has answered in time.', value };
    case 'superseded':
      return { title: 'Not answered', text: 'Another message was sent instead.' };
    case 'cancelled':
      return { title: 'Not answered', text: 'The run has ended.' };
  }
}

function answerOf({ kind, private: isPrivate }: InputRequest, value: unknown): Shown {
  const members = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  if (isPrivate && value === undefined) return { title: 'Answered', text: 'The answer is private.' };
  switch (kind) {
    case 'approval': {
      const text = typeof members['reason'] === 'string' ? `Reason: ${members['reason']}` : undefined;
      if (members['approved'] !== true) return { title: 'Declined', text };
      const { arguments: changed } = members;
      return {
        title: changed === undefined ? 'Approved' : 'Approved with other arguments',
        text,
        value: changed,
      };
    }
    case 'tool':
      return { title: members['isError'] === true ? 'Error' : 'Result', value: members['content'] };
    case 'auth':
      return { title: 'Signed in' };
    case 'input':
      return { title: 'Answered', value };
  }
}
