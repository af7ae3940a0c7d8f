/** Moves the focus when the control that had it is gone: the user goes on with the next question, or with what can be reached. */
export function focusMessage(): void {
  for (const control of ['.message', '.new', '.views [aria-pressed="true"]']) {
    const element = document.querySelector<HTMLElement>(control);
    element?.focus();
    if (document.activeElement === element) return;
  }
}
