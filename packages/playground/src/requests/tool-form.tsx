import { FieldView } from './field-view.js';
import { faultsByField, readForm } from './form-values.js';
import type { FormProps } from './form-props.js';
import type { Field } from './schema-fields.js';

const CONTENT: Field = { kind: 'json', pointer: '/content', label: 'Result of the call', isRequired: true };

const IS_ERROR: Field = {
  kind: 'flag',
  pointer: '/isError',
  label: 'The call has failed',
  isRequired: false,
};

const FORM: Field = {
  kind: 'group',
  pointer: '',
  label: 'Result',
  isRequired: true,
  fields: [
    { name: 'content', field: CONTENT },
    { name: 'isError', field: IS_ERROR },
  ],
};

/** Asks for the result of a call that the client executes. */
export function ToolForm({ draft: written, onDraft, faults, onSend, isSending }: FormProps) {
  const draft = { '/content': '', '/isError': false, ...written };
  const send = (event: Event) => {
    event.preventDefault();
    const { value, faults: found } = readForm(FORM, draft);
    onSend(value, found);
  };
  return (
    <form onSubmit={send} noValidate>
      <FieldView field={FORM} draft={draft} onDraft={onDraft} faults={faultsByField(FORM, faults)} />
      <div class="decide">
        <button type="submit" class="primary" aria-disabled={isSending}>
          {isSending ? 'Sending…' : 'Send the result'}
        </button>
      </div>
    </form>
  );
}
