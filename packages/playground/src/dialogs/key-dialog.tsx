import type { ApiKey } from '../state/api-key.js';
import { useStore } from '../state/store.js';
import { Modal } from './modal.js';

/** Asks for the API key when the service wants one. */
export function KeyDialog({ apiKey }: { apiKey: ApiKey }) {
  const { question } = useStore(apiKey);
  if (question === undefined) return null;
  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const key = (new FormData(event.currentTarget).get('key') as string).trim();
    if (key !== '') apiKey.give(key);
  };
  return (
    <Modal title="Access" onClose={() => apiKey.give(undefined)}>
      <form onSubmit={submit}>
        <p>{question} This tab keeps it until you close it.</p>
        <label>
          API key or token
          <input
            name="key"
            type="password"
            autocomplete="off"
            pattern="[!-~]+"
            title="Letters, digits and signs without spaces"
            required
            autofocus
          />
        </label>
        <div class="actions">
          <button type="button" class="secondary" onClick={() => apiKey.give(undefined)}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Continue
          </button>
        </div>
      </form>
    </Modal>
  );
}
