import type { ApprovalValue } from 'nest-agent-query-client';
import { useRef } from 'preact/hooks';
import { flushSync } from 'preact/compat';
import { Icon } from '../icons.js';
import { shownJson } from '../text.js';
import { FieldView } from './field-view.js';
import { faultsByField, readJson } from './form-values.js';
import type { FormProps } from './form-props.js';
import type { Field } from './schema-fields.js';

const REASON: Field = { kind: 'text', pointer: '/reason', label: 'Reason for the agent', isRequired: false };

const ARGUMENTS: Field = {
  kind: 'json',
  pointer: '/arguments',
  label: 'Arguments',
  description: 'They replace all arguments of the call.',
  isRequired: true,
};

const FORM: Field = {
  kind: 'group',
  pointer: '',
  label: 'Answer',
  isRequired: true,
  fields: [
    { name: 'arguments', field: ARGUMENTS },
    { name: 'reason', field: REASON },
  ],
};

/** Asks whether a call may be made, and with which arguments. */
export function ApprovalForm({ request, draft: written, onDraft, faults, onSend, isSending }: FormProps) {
  const given = shownJson(request.arguments ?? {});
  const draft = { '/reason': '', '/arguments': given, ...written };
  const isEditing = written['editing'] === true;
  const editor = useRef<HTMLDivElement>(null);
  const texts = faultsByField(FORM, faults);
  const value = (approved: boolean): ApprovalValue => {
    const reason = draft['/reason'].trim();
    return { approved, ...(reason !== '' && { reason }) };
  };
  const approve = () => {
    if (!isEditing || draft['/arguments'] === given) return onSend(value(true));
    const { value: changed, faults: found } = readJson(draft['/arguments'], '/arguments', true);
    onSend({ ...value(true), arguments: changed }, found);
  };
  return (
    <>
      {request.editable && (
        <button
          type="button"
          class="secondary small"
          aria-expanded={isEditing}
          onClick={() => {
            flushSync(() => onDraft({ ...written, editing: !isEditing }));
            editor.current?.querySelector('textarea')?.focus();
          }}
        >
          {isEditing ? 'Leave the arguments as they are' : 'Edit the arguments'}
        </button>
      )}
      {isEditing && (
        <div ref={editor}>
          <FieldView field={ARGUMENTS} draft={draft} onDraft={onDraft} faults={texts} />
        </div>
      )}
      <FieldView field={REASON} draft={draft} onDraft={onDraft} faults={texts} />
      <Unplaced texts={texts['']} />
      <div class="decide">
        <button type="button" class="primary" aria-disabled={isSending} onClick={approve}>
          <Icon name="done" />
          Approve
        </button>
        <button
          type="button"
          class="secondary refuse"
          aria-disabled={isSending}
          onClick={() => onSend(value(false))}
        >
          <Icon name="close" />
          Decline
        </button>
        {isSending && <span class="quiet">Sending…</span>}
      </div>
    </>
  );
}

function Unplaced({ texts = [] }: { texts?: string[] | undefined }) {
  return texts.length === 0 ? null : <p class="fault">{texts.join(' ')}</p>;
}
