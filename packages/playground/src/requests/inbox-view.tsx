import type { InputView } from 'nest-agent-query-client';
import type { Page } from '../state/page.js';
import { useStore } from '../state/store.js';
import { timeUntil } from '../text.js';

/** The open requests of all conversations. */
export function InboxView({ page }: { page: Page }) {
  const { inbox, sessions } = page.service;
  const { list, hasMore } = useStore(inbox);
  if (list.length === 0) return null;
  const nameOf = (session: string) => {
    const known = sessions.find(session);
    return known ? sessions.nameOf(known) : session;
  };
  return (
    <section class="inbox" aria-labelledby="inbox-title">
      <h2 id="inbox-title">
        Waiting for an answer
        <span class="badge">
          {list.length}
          {hasMore && '+'}
        </span>
      </h2>
      <ul>
        {list.map((input) => (
          <li key={`${input.runId} ${input.id}`}>
            <Entry
              input={input}
              name={input.session === null ? undefined : nameOf(input.session)}
              page={page}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Entry({ input, name, page }: { input: InputView; name: string | undefined; page: Page }) {
  const { id, runId, session, message, expiresAt } = input;
  const until = timeUntil(expiresAt);
  const when = until === undefined ? 'has expired' : `expires ${until}`;
  const said = (
    <>
      <span class="title">{message}</span>
      <span class="when">
        {name === undefined ? 'Not in a conversation' : name} · {when}
      </span>
    </>
  );
  // The page shows conversations only. The run can be answered with the client.
  if (session === null) return <p class="session">{said}</p>;
  return (
    <button type="button" class="session" onClick={() => page.showRequest(session, runId, id)}>
      {said}
    </button>
  );
}
