import { keepInTab, keptInTab, removeFromTab } from './tab-storage.js';
import type { Question } from './turn.js';

/** The metadata of so many runs is kept, each of so many characters at most. */
const RUNS = 100;
const LENGTH = 10_000;

const placeOf = (runId: string) => `question:${runId}`;
const sentPlaceOf = (session: string) => `sent:${session}`;
const KWARGS = 'kwargs';

type Kwargs = Question['kwargs'];

/** What other windows have told. */
const heard = new Map<string, Question>();

/** A question without the contents of its files. */
export function described({ text, files, kwargs }: Question): Question {
  return { text, files: files.map(({ name, mimeType, size }) => ({ name, mimeType, size })), kwargs };
}

/** Keeps a question that is being sent. No response has said yet which run it is. */
export function rememberSent(session: string, key: string, question: Question): void {
  const others = sentIn(session).filter((each) => each.key !== key);
  keepSent(session, [...others, { key, question: described(question) }]);
}

export function forgetSent(session: string, key: string): void {
  keepSent(
    session,
    sentIn(session).filter((each) => each.key !== key),
  );
}

export function forgetAllSent(session: string): void {
  keepSent(session, []);
}

/** The service shows a question when its run has ended. Until then the tab keeps it, for when the page is loaded again. */
export function rememberQuestion(runId: string, question: Question): void {
  keepInTab(placeOf(runId), JSON.stringify(described(question)));
  rememberKwargs(runId, question.kwargs);
}

export function recallQuestion(runId: string, session: string): Question | undefined {
  const kept = parsed<Question>(placeOf(runId));
  if (kept) return kept;
  const sent = takeSent(session);
  if (sent) rememberQuestion(runId, sent);
  return sent;
}

export function forgetQuestion(runId: string): void {
  removeFromTab(placeOf(runId));
}

/** Remembers what another window has asked, until the run is shown. */
export function hearQuestion(runId: string, question: Question): void {
  heard.set(runId, question);
  if (heard.size > RUNS) heard.delete(heard.keys().next().value!);
}

export function recallHeard(runId: string): Question | undefined {
  return heard.get(runId);
}

/** The metadata of a query that this tab has sent. The service does not show it. */
export function recallKwargs(runId: string): Kwargs {
  return new Map(parsed<[string, Kwargs][]>(KWARGS)).get(runId) ?? {};
}

/** The oldest question that was being sent when the page was loaded again. It is kept no longer. */
function takeSent(session: string): Question | undefined {
  const [oldest, ...others] = sentIn(session);
  keepSent(session, others);
  return oldest?.question;
}

function rememberKwargs(runId: string, kwargs: Kwargs): void {
  if (Object.keys(kwargs).length === 0 || JSON.stringify(kwargs).length > LENGTH) return;
  const kept = new Map(parsed<[string, Kwargs][]>(KWARGS)).set(runId, kwargs);
  keepInTab(KWARGS, JSON.stringify([...kept].slice(-RUNS)));
}

function sentIn(session: string): { key: string; question: Question }[] {
  return parsed(sentPlaceOf(session)) ?? [];
}

function keepSent(session: string, sent: { key: string; question: Question }[]): void {
  if (sent.length === 0) removeFromTab(sentPlaceOf(session));
  else keepInTab(sentPlaceOf(session), JSON.stringify(sent));
}

function parsed<T>(place: string): T | undefined {
  const kept = keptInTab(place);
  return kept === undefined ? undefined : (JSON.parse(kept) as T);
}
