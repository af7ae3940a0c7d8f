import { useEffect, useRef } from 'preact/hooks';
import { Icon } from './icons.js';
import { InboxView } from './requests/inbox-view.js';
import type { Page } from './state/page.js';
import { useStore } from './state/store.js';
import { rootOf } from './state/versions.js';
import { timeAgo } from './text.js';

/** The sessions of the user, and the agents if there are several. On a phone it is a drawer. */
export function Sidebar({ page, onErase }: { page: Page; onErase: (id: string) => void }) {
  const { service, conversation, services, isDrawerOpen } = page;
  const key = useStore(page.key);
  const { conversations, next, isLoaded, fault } = service.sessions;
  const named = conversations.map((session) => ({ ...session, name: service.sessions.nameOf(session) }));
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isDrawerOpen) first.current?.focus();
  }, [isDrawerOpen]);
  return (
    <nav class="sidebar" aria-label="Conversations">
      <div class="brand">
        <span class="mark" aria-hidden="true" />
        <span>Playground</span>
        <button
          type="button"
          class="plain close-drawer"
          aria-label="Hide conversations"
          onClick={() => page.openDrawer(false)}
        >
          <Icon name="close" />
        </button>
      </div>
      {services.length > 1 && (
        <select
          aria-label="Agent"
          value={service.endpoint.name}
          onChange={({ currentTarget }) => page.chooseAgent(currentTarget.value)}
        >
          {services.map(({ endpoint: { name } }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      )}
      <button type="button" class="new" ref={first} onClick={() => page.startNew()}>
        <Icon name="plus" />
        New conversation
      </button>
      <InboxView page={page} />
      {fault !== undefined && <p class="quiet fault">{fault}</p>}
      {isLoaded && !fault && conversations.length === 0 && <p class="quiet">What you ask is kept here.</p>}
      <ul>
        {named.map(({ id, name, updatedAt, active, asking }) => (
          <li key={id}>
            <button
              type="button"
              class="session"
              aria-current={rootOf(id) === rootOf(conversation.id) ? 'true' : undefined}
              onClick={() => page.select(id)}
            >
              <span class="title">{name}</span>
              <span class="when">
                {active !== null ? 'answering…' : asking !== null ? 'asks you' : timeAgo(updatedAt)}
              </span>
            </button>
            <button
              type="button"
              class="plain erase"
              aria-label={`Erase ${name}`}
              onClick={() => onErase(id)}
            >
              <Icon name="erase" />
            </button>
          </li>
        ))}
      </ul>
      {next !== null && (
        <button type="button" class="more" onClick={() => void service.sessions.more()}>
          Load more
        </button>
      )}
      {key.value !== undefined && (
        <button type="button" class="more" onClick={() => key.forget()}>
          Forget the API key
        </button>
      )}
    </nav>
  );
}
