import { useMemo } from 'preact/hooks';
import { FieldView } from './field-view.js';
import { draftOf, faultsByField, readForm } from './form-values.js';
import type { FormProps } from './form-props.js';
import { fieldOf } from './schema-fields.js';

/** Asks for a value: a form made from the schema, or a text. */
export function InputForm({ request, draft: written, onDraft, faults, onSend, isSending }: FormProps) {
  const field = useMemo(() => fieldOf(request.schema), [request]);
  const draft = useMemo(() => ({ ...draftOf(field), ...written }), [field, written]);
  const send = (event: Event) => {
    event.preventDefault();
    const { value, faults: found } = readForm(field, draft);
    onSend(value, found);
  };
  return (
    // The page itself says what is wrong, at the fields.
    <form onSubmit={send} noValidate>
      <FieldView
        field={field}
        draft={draft}
        onDraft={onDraft}
        faults={faultsByField(field, faults)}
        isSecret={request.private === true}
      />
      <div class="decide">
        <button type="submit" class="primary" aria-disabled={isSending}>
          {isSending ? 'Sending…' : 'Send the answer'}
        </button>
      </div>
    </form>
  );
}
