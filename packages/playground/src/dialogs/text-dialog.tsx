import { Modal } from './modal.js';

/** Shows the text of a file. */
export function TextDialog({ name, text, onClose }: { name: string; text: string; onClose: () => void }) {
  return (
    <Modal title={name} onClose={onClose} isWide>
      <pre class="file-text" tabindex={0}>
        {text}
      </pre>
      <div class="actions">
        <button type="button" class="primary" autofocus onClick={onClose}>
          Close
        </button>
      </div>
    </Modal>
  );
}
