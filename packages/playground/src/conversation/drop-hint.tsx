import { createPortal } from 'preact/compat';
import { Icon } from '../icons.js';

/** Covers the page while files are above it. It is no part of the conversation, which may be hidden. */
export function DropHint() {
  return createPortal(
    <div class="drop-hint" aria-hidden="true">
      <p>
        <Icon name="attach" />
        Drop the files to attach them to your next message
      </p>
    </div>,
    document.body,
  );
}
