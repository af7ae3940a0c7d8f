import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { focusMessage } from '../focus-message.js';

/** A dialog that is open while it is there. The browser keeps the focus in it, and gives it back. */
export function Modal({
  title,
  onClose,
  children,
  isWide = false,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  isWide?: boolean;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  // The event of a dialog that the page itself has closed comes when it is gone, and closes no other.
  const isGone = useRef(false);
  const id = useId();
  useEffect(() => {
    const { current } = dialog;
    current?.showModal();
    return () => {
      isGone.current = true;
      current?.close();
      if (document.activeElement === document.body) focusMessage();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={isWide ? 'wide' : ''}
      aria-labelledby={id}
      onClose={() => !isGone.current && onClose()}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}
