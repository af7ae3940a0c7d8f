import { useEffect, useRef, useState } from 'preact/hooks';
import { Composer } from './conversation/composer.js';
import { ConversationView } from './conversation/conversation-view.js';
import { EraseDialog } from './dialogs/erase-dialog.js';
import { KeyDialog } from './dialogs/key-dialog.js';
import { Icon } from './icons.js';
import { Sidebar } from './sidebar.js';
import type { Page, View } from './state/page.js';
import { useStore } from './state/store.js';
import { WireView } from './wire/wire-view.js';

/** The whole page. */
export function App({ page }: { page: Page }) {
  const { conversation, service, view, isDrawerOpen } = useStore(page);
  useStore(conversation);
  useStore(service.sessions);
  const [erased, setErased] = useState<string>();
  const [kwargs, setKwargs] = useState('');
  const menu = useRef<HTMLButtonElement>(null);
  const title = titleOf(page);
  useEffect(() => void (document.title = `${title} · Playground`), [title]);
  useEffect(() => {
    if (!isDrawerOpen) return;
    const close = ({ key }: KeyboardEvent) => key === 'Escape' && page.openDrawer(false);
    addEventListener('keydown', close);
    return () => {
      removeEventListener('keydown', close);
      menu.current?.focus();
    };
  }, [isDrawerOpen]);
  return (
    <div class={`app ${isDrawerOpen ? 'with-drawer' : ''}`}>
      <Sidebar page={page} onErase={setErased} />
      <div class="backdrop" onClick={() => page.openDrawer(false)} />
      <div class="stage" inert={isDrawerOpen}>
        <header class="bar">
          <button
            ref={menu}
            type="button"
            class="plain menu"
            aria-label="Show conversations"
            aria-expanded={isDrawerOpen}
            onClick={() => page.openDrawer(true)}
          >
            <Icon name="menu" />
          </button>
          <h1 title={title}>{title}</h1>
          <Views page={page} />
        </header>
        <main>
          {view === 'wire' && <WireView wire={service.calls.wire} endpoint={service.endpoint} />}
          {/* It stays as the user left it, and takes files that are dropped. */}
          <div class="conversation" key={conversation.id} hidden={view !== 'conversation'}>
            <ConversationView conversation={conversation} onAsk={(question) => void page.ask(question)} />
            <Composer
              conversation={conversation}
              kwargs={kwargs}
              onKwargs={setKwargs}
              onAsk={(question, session) => void page.ask(question, session)}
            />
          </div>
        </main>
      </div>
      <p class="unseen" role="status">
        {conversation.announcement}
      </p>
      <KeyDialog apiKey={page.key} />
      <EraseDialog page={page} id={erased} onClose={() => setErased(undefined)} />
    </div>
  );
}

const VIEWS: [View, string][] = [
  ['conversation', 'Conversation'],
  ['wire', 'On the wire'],
];

function Views({ page }: { page: Page }) {
  return (
    <div class="views" role="group" aria-label="View">
      {VIEWS.map(([view, name]) => (
        <button key={view} type="button" aria-pressed={page.view === view} onClick={() => page.show(view)}>
          {name}
        </button>
      ))}
    </div>
  );
}

function titleOf({ conversation, service }: Page): string {
  const known = service.sessions.list.find(({ id }) => id === conversation.id);
  const first = conversation.turns[0]?.question?.text.split('\n', 1)[0]?.slice(0, 80);
  return known?.title || first || (conversation.turns.length > 0 ? 'Conversation' : 'New conversation');
}
