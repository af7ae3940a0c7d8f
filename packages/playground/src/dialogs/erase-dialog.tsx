import { flushSync } from 'preact/compat';
import { useEffect, useState } from 'preact/hooks';
import { focusMessage } from '../focus-message.js';
import type { Page } from '../state/page.js';
import { Modal } from './modal.js';

/** Asks before a conversation is erased. */
export function EraseDialog({
  page,
  id,
  onClose,
}: {
  page: Page;
  id: string | undefined;
  onClose: () => void;
}) {
  const [fault, setFault] = useState<string>();
  useEffect(() => setFault(undefined), [id]);
  if (id === undefined) return null;
  const { sessions } = page.service;
  const session = sessions.find(id);
  const erase = () => {
    page.erase(id).then(
      () => {
        // While the dialog is there, nothing else can have the focus.
        flushSync(onClose);
        focusMessage();
      },
      (error: Error) => setFault(error.message),
    );
  };
  return (
    <Modal title="Erase this conversation?" onClose={onClose}>
      <p>
        “{session && sessions.nameOf(session)}”: its turns, runs and files are erased from the service, in all
        its versions. This cannot be undone.
      </p>
      {fault !== undefined && <p class="fault">{fault}</p>}
      <div class="actions">
        <button type="button" class="secondary" autofocus onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="primary danger" onClick={erase}>
          Erase
        </button>
      </div>
    </Modal>
  );
}
