import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { flushSync } from 'preact/compat';
import { Icon } from '../icons.js';
import type { Conversation } from '../state/conversation.js';
import type { Question } from '../state/turn.js';
import { keepInTab, keptInTab, removeFromTab } from '../state/tab-storage.js';
import { FileChip } from './file-chip.js';
import { DropHint } from './drop-hint.js';
import { useDroppedFiles } from './use-dropped-files.js';

interface ComposerProps {
  conversation: Conversation;
  /** They stay for the next query, also in another conversation. */
  kwargs: string;
  kwargsFault: string | undefined;
  onKwargs: (kwargs: string) => void;
  onAsk: (question: Pick<Question, 'text' | 'files'>) => void;
}

/** Under this name the tab keeps that the field is shown. */
const KWARGS = 'kwargs field';

/** Where the user writes. */
export function Composer({ conversation, kwargs, kwargsFault, onKwargs, onAsk }: ComposerProps) {
  const [text, setText] = useState(conversation.draft.text);
  const [files, setFiles] = useState(conversation.draft.files);
  const [isOpen, setOpen] = useState(keptInTab(KWARGS) !== undefined);
  // What is sent with each query is never hidden.
  const hasKwargs = isOpen || kwargs.trim() !== '';
  const message = useRef<HTMLTextAreaElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const add = (added: Iterable<File>) => setFiles((before) => [...before, ...added]);
  const isDropping = useDroppedFiles(add);
  const { live } = conversation;
  const isReady = (text.trim() !== '' || files.length > 0) && kwargsFault === undefined;

  // Not after the next frame: by then the user may have gone to another field.
  useLayoutEffect(() => message.current?.focus(), []);
  useLayoutEffect(() => void (conversation.draft = { text, files }), [text, files]);
  const send = () => {
    if (!isReady) return;
    onAsk({ text, files: files.map(questionFile) });
    setText('');
    setFiles([]);
    message.current?.focus();
  };
  const toggleKwargs = () => {
    if (kwargs.trim() !== '') return field.current?.focus();
    if (hasKwargs) removeFromTab(KWARGS);
    else keepInTab(KWARGS, 'shown');
    flushSync(() => setOpen(!hasKwargs));
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // While characters are composed, Enter chooses one.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    send();
  };
  const onPaste = (event: ClipboardEvent) => {
    const { files: pasted = [], types = [] } = event.clipboardData ?? {};
    // Programs for texts and tables add a picture of what was copied.
    if (pasted.length === 0 || types.includes('text/plain')) return;
    event.preventDefault();
    add(pasted);
  };

  return (
    <form
      class="composer"
      aria-label="Query"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {files.length > 0 && (
        <ul class="chips" aria-label="Attached files">
          {files.map((file, index) => (
            <li key={`${index} ${file.name}`}>
              <FileChip
                file={questionFile(file)}
                onRemove={() => {
                  setFiles(files.toSpliced(index, 1));
                  message.current?.focus();
                }}
              />
            </li>
          ))}
        </ul>
      )}
      <div class="write">
        <textarea
          ref={message}
          class="message"
          aria-label="Message"
          placeholder="Ask something, or add files"
          rows={1}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
        />
        <div class="tools">
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            aria-label="Files"
            onChange={({ currentTarget }) => {
              add(currentTarget.files ?? []);
              currentTarget.value = '';
            }}
          />
          <button
            type="button"
            class="plain"
            aria-label="Attach files"
            onClick={() => picker.current?.click()}
          >
            <Icon name="attach" />
          </button>
          <button
            type="button"
            class="plain"
            aria-label="kwargs"
            title="kwargs: values for the agent, as JSON"
            aria-expanded={hasKwargs}
            onClick={toggleKwargs}
          >
            <Icon name="braces" />
          </button>
          {live && (
            <button
              type="button"
              class="secondary stop"
              disabled={live.isStopping}
              onClick={() => {
                void conversation.stop(live);
                message.current?.focus();
              }}
            >
              <Icon name="stop" />
              <span class="word">{live.isStopping ? 'Stopping…' : 'Stop'}</span>
            </button>
          )}
          <button type="submit" class="primary send" aria-label="Send" disabled={!isReady}>
            <Icon name="send" />
          </button>
        </div>
      </div>
      {hasKwargs && (
        <label class="kwargs">
          <span>kwargs</span>
          <textarea
            ref={field}
            rows={1}
            spellcheck={false}
            autocapitalize="off"
            placeholder="{ }"
            value={kwargs}
            aria-invalid={kwargsFault !== undefined}
            aria-describedby="kwargs-fault"
            onInput={({ currentTarget }) => onKwargs(currentTarget.value)}
            onKeyDown={(event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && send()}
          />
        </label>
      )}
      {isDropping && <DropHint />}
      <p class="fault" id="kwargs-fault" role="alert">
        {kwargsFault}
      </p>
    </form>
  );
}

function questionFile(file: File) {
  const { name, type, size } = file;
  return { name: name || 'pasted', mimeType: type || 'application/octet-stream', size, content: file };
}
