import type { FieldError, InputKind } from 'nest-agent-query-client';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Asked } from '../answer/answer-view.js';
import { CallDetails } from '../answer/tool-view.js';
import { focusMessage } from '../focus-message.js';
import type { Conversation } from '../state/conversation.js';
import type { Turn } from '../state/turn.js';
import { shownJson } from '../text.js';
import { ApprovalForm } from './approval-form.js';
import { AuthForm } from './auth-form.js';
import { Expiry } from './expiry.js';
import type { Draft } from './form-values.js';
import { InputForm } from './input-form.js';
import { Outcome } from './outcome.js';
import { ToolForm } from './tool-form.js';

interface Props {
  turn: Turn;
  asked: Asked;
  conversation: Conversation;
}

const TITLES: Record<InputKind, string> = {
  approval: 'The agent asks for your approval',
  input: 'The agent has a question',
  tool: 'The agent asks you to execute a call',
  auth: 'The agent asks you to sign in',
};

/** The titles of requests that are no longer open. */
const PAST_TITLES: Record<InputKind, string> = {
  approval: 'The agent asked for your approval',
  input: 'The agent had a question',
  tool: 'The agent asked you to execute a call',
  auth: 'The agent asked you to sign in',
};

const FORMS = { approval: ApprovalForm, input: InputForm, tool: ToolForm, auth: AuthForm };

/** A request of the run: a form while it is open, and then what was answered. */
export function RequestCard({ turn, asked, conversation }: Props) {
  const { request, resolved, refusal } = asked;
  const isOpen = turn.openRequests.includes(asked);
  const card = useRef<HTMLDivElement>(null);
  const wasOpen = useRef(isOpen);
  const id = useId();
  useEffect(() => {
    if (!conversation.requests.takeWanted(turn, asked)) return;
    card.current?.focus();
    card.current?.scrollIntoView({ block: 'nearest' });
  });
  useLayoutEffect(() => {
    const hasClosed = wasOpen.current && !isOpen;
    wasOpen.current = isOpen;
    // The control that had the focus is gone with the form.
    if (hasClosed && document.activeElement === document.body) focusNext();
  }, [isOpen]);
  const use = turn.answer.callOf(request.toolCallId);
  // The call itself shows the changes, just above.
  const isShown = isOpen || !use?.diffs;
  const hasCall = isShown && (request.name !== undefined || request.arguments !== undefined);
  return (
    <div
      ref={card}
      class={`request ${isOpen ? 'open' : ''}`}
      role="group"
      aria-labelledby={`${id}-title ${id}-message`}
      tabindex={-1}
    >
      <h3 id={`${id}-title`}>{(isOpen ? TITLES : PAST_TITLES)[request.kind]}</h3>
      <p class="asks" id={`${id}-message`}>
        {request.message}
      </p>
      {hasCall && (
        <div class="call">
          {request.name !== undefined && <code>{request.name}</code>}
          {request.arguments !== undefined &&
            (use ? (
              <CallDetails use={{ ...use, arguments: request.arguments }} />
            ) : (
              <pre tabindex={0}>{shownJson(request.arguments)}</pre>
            ))}
        </div>
      )}
      {isOpen ? (
        <OpenRequest turn={turn} asked={asked} conversation={conversation} />
      ) : (
        <Outcome request={request} resolved={resolved} />
      )}
      <p class="fault" role="alert">
        {refusal?.message}
      </p>
    </div>
  );
}

function OpenRequest({ turn, asked, conversation }: Props) {
  const { request, refusal, isSending = false } = asked;
  const { requests } = conversation;
  const [draft, setDraft] = useState<Draft>(() => requests.draft(turn, asked) ?? {});
  const [ownFaults, setOwnFaults] = useState<FieldError[]>([]);
  const form = useRef<HTMLDivElement>(null);
  const faults = [...ownFaults, ...(refusal?.faults ?? [])];
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [ownFaults, refusal]);
  const Form = FORMS[request.kind];
  return (
    <div ref={form} class="form" aria-busy={isSending}>
      <Form
        request={request}
        draft={draft}
        onDraft={(next) => {
          setDraft(next);
          requests.keepDraft(turn, asked, next);
        }}
        faults={faults}
        isSending={isSending}
        onSend={(value, wrong = []) => {
          setOwnFaults(wrong);
          if (wrong.length === 0) void requests.answer(turn, asked, { outcome: 'answered', value });
        }}
      />
      <div class="request-foot">
        <Expiry request={request} />
        <button
          type="button"
          class="skip"
          title="The agent goes on without an answer."
          aria-disabled={isSending}
          onClick={() => void requests.answer(turn, asked, { outcome: 'declined' })}
        >
          I do not want to answer
        </button>
      </div>
    </div>
  );
}

/** The next request that is open, or the message of the user. */
function focusNext(): void {
  const next = document.querySelector<HTMLElement>('.request.open');
  if (next) next.focus();
  else focusMessage();
}
