import { keepInTab, keptInTab, removeFromTab } from './tab-storage.js';
import type { Question } from './turn.js';

const placeOf = (runId: string) => `question:${runId}`;

/** The service shows a question when its run has ended. Until then the tab keeps it, for when the page is loaded again. */
export function rememberQuestion(runId: string, { text, files, kwargs }: Question): void {
  const described = files.map(({ name, mimeType, size }) => ({ name, mimeType, size }));
  keepInTab(placeOf(runId), JSON.stringify({ text, files: described, kwargs }));
}

export function recallQuestion(runId: string): Question | undefined {
  const kept = keptInTab(placeOf(runId));
  return kept === undefined ? undefined : (JSON.parse(kept) as Question);
}

export function forgetQuestion(runId: string): void {
  removeFromTab(placeOf(runId));
}
