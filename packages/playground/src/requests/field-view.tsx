import { useId } from 'preact/hooks';
import type { Draft } from './form-values.js';
import type { Field, NumberField, TextField } from './schema-fields.js';

interface Props {
  field: Field;
  draft: Draft;
  onDraft: (draft: Draft) => void;
  /** Sentences, by the pointers of fields. */
  faults: Record<string, string[]>;
  /** Whether what is written is not shown. */
  isSecret?: boolean;
}

/** From so many characters on, a text has several lines. */
const LONG_TEXT = 200;

/** A field of a form, with its label, what its schema says of it, and what is wrong with it. */
export function FieldView(props: Props) {
  const { field, faults } = props;
  const id = useId();
  const said = <Said id={id} field={field} faults={faults[field.pointer]} />;
  if (field.kind === 'group') {
    return (
      <fieldset aria-describedby={`${id}-said`}>
        {field.pointer !== '' && <legend>{field.label}</legend>}
        {said}
        {field.fields.map(({ name, field: member }) => (
          <FieldView key={name} {...props} field={member} />
        ))}
      </fieldset>
    );
  }
  const label = (
    <label for={id}>
      {field.label}
      {!field.isRequired && field.kind !== 'flag' && <span class="quiet"> (optional)</span>}
    </label>
  );
  return (
    <div class={`field ${field.kind}`}>
      {field.kind !== 'flag' && label}
      <Control {...props} field={field} id={id} />
      {field.kind === 'flag' && label}
      {said}
    </div>
  );
}

function Control({ field, draft, onDraft, faults, isSecret, id }: Props & { id: string }) {
  const { pointer } = field;
  const written = draft[pointer];
  const set = (value: string | boolean) => onDraft({ ...draft, [pointer]: value });
  const common = {
    id,
    'aria-describedby': `${id}-said`,
    'aria-invalid': faults[pointer] !== undefined,
    'aria-required': field.isRequired && field.kind !== 'flag',
  };
  const ofText = {
    ...common,
    value: written as string,
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement | HTMLTextAreaElement }) =>
      set(currentTarget.value),
  };
  switch (field.kind) {
    case 'flag': {
      const { 'aria-required': _, ...others } = common;
      const isSet = written === true;
      return (
        <input
          {...others}
          type="checkbox"
          checked={isSet}
          onChange={(event) => set(event.currentTarget.checked)}
        />
      );
    }
    case 'choice':
      return (
        <select
          {...common}
          value={written as string}
          onChange={({ currentTarget }) => set(currentTarget.value)}
        >
          <option value="">{field.isRequired ? 'Choose…' : 'None'}</option>
          {field.options.map((option, index) => (
            <option key={index} value={index}>
              {option.label}
            </option>
          ))}
        </select>
      );
    case 'number':
      return <input {...ofText} type="text" inputMode="decimal" autocomplete="off" />;
    case 'text':
      if (isSecret) return <input {...ofText} type="password" autocomplete="off" />;
      if ((field.maxLength ?? 0) > LONG_TEXT) return <textarea {...ofText} rows={3} />;
      if (field.format === 'date') return <input {...ofText} type="date" />;
      return <input {...ofText} type="text" autocomplete="off" />;
    default:
      return <textarea {...ofText} class="json" rows={5} spellcheck={false} autocapitalize="off" />;
  }
}

function Said({ id, field, faults = [] }: { id: string; field: Field; faults?: string[] | undefined }) {
  const hint = [field.description, rangeOf(field)].filter(Boolean).join(' ');
  return (
    <p class="said" id={`${id}-said`}>
      {hint !== '' && <span class="quiet">{hint}</span>}
      {faults.map((fault) => (
        <span key={fault} class="fault">
          {fault}
        </span>
      ))}
    </p>
  );
}

/** The range of a number or of a length, in words. */
function rangeOf(field: Field): string | undefined {
  if (field.kind === 'json') return 'As JSON.';
  if (field.kind !== 'number' && field.kind !== 'text') return undefined;
  const [least, most] = boundsOf(field);
  const unit = field.kind === 'text' ? ' characters' : '';
  const what = field.kind === 'number' && field.isInteger ? 'A whole number' : '';
  if (least === undefined && most === undefined) return what === '' ? undefined : `${what}.`;
  const range =
    least === undefined
      ? `at most ${most}`
      : most === undefined
        ? `at least ${least}`
        : `from ${least} to ${most}`;
  const text = `${what} ${range}${unit}.`.trim();
  return text[0]!.toUpperCase() + text.slice(1);
}

function boundsOf(field: NumberField | TextField): [number | undefined, number | undefined] {
  return field.kind === 'number' ? [field.minimum, field.maximum] : [field.minLength, field.maxLength];
}
