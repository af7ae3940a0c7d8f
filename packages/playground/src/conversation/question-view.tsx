import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { focusMessage } from '../focus-message.js';
import { Icon } from '../icons.js';
import type { Question } from '../state/turn.js';
import { FileChip } from './file-chip.js';

interface Props {
  question: Question;
  /** Asks another text in its place; undefined while that is not possible. */
  onEdit: ((text: string) => void) | undefined;
}

/** A question, which can be edited: the files stay. */
export function QuestionView({ question, onEdit }: Props) {
  const { text, files, kwargs, isCut } = question;
  const [isEdited, setEdited] = useState(false);
  const leave = () => {
    setEdited(false);
    focusMessage();
  };
  return (
    <>
      <div class="bubble">
        {files.length > 0 && (
          <ul class="chips">
            {files.map((file, index) => (
              <li key={index}>
                <FileChip file={file} />
              </li>
            ))}
          </ul>
        )}
        {isEdited && onEdit ? (
          <EditForm
            text={text}
            onCancel={leave}
            onSend={(edited) => {
              leave();
              onEdit(edited);
            }}
          />
        ) : (
          text !== '' && <p class="text">{text}</p>
        )}
        {isCut && <p class="quiet">Only the beginning is shown.</p>}
        {Object.keys(kwargs).length > 0 && <code class="sent-kwargs">{JSON.stringify(kwargs)}</code>}
      </div>
      {onEdit && !isEdited && (
        <button type="button" class="plain small" onClick={() => setEdited(true)}>
          <Icon name="edit" />
          Edit
        </button>
      )}
    </>
  );
}

function EditForm(props: { text: string; onCancel: () => void; onSend: (text: string) => void }) {
  const [text, setText] = useState(props.text);
  const area = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => area.current?.focus(), []);
  return (
    <form
      class="edit"
      aria-label="Edit the question"
      onSubmit={(event) => {
        event.preventDefault();
        props.onSend(text);
      }}
      onKeyDown={({ key }) => key === 'Escape' && props.onCancel()}
    >
      <textarea
        ref={area}
        class="message"
        aria-label="Question"
        rows={1}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <div class="actions">
        <button type="button" class="secondary" onClick={props.onCancel}>
          Cancel
        </button>
        <button type="submit" class="primary" disabled={text.trim() === ''}>
          Ask
        </button>
      </div>
    </form>
  );
}
