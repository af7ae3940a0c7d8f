import type { ComponentChildren } from 'preact';
import { useErrorBoundary } from 'preact/hooks';

/** Shows a sentence in place of a turn that cannot be drawn, so that the rest of the page stays. */
export function TurnBoundary({ children }: { children: ComponentChildren }) {
  const [fault] = useErrorBoundary() as [Error | undefined, () => void];
  if (fault === undefined) return <>{children}</>;
  return <p class="failure">This turn cannot be shown. “On the wire” has its events. {fault.message}</p>;
}
