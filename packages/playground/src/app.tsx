import { useEffect, useRef, useState } from 'preact/hooks';
import { Composer } from './conversation/composer.js';
import { ConversationView } from './conversation/conversation-view.js';
import { readKwargs } from './conversation/kwargs.js';
import { UsageLine } from './conversation/usage-line.js';
import { EraseDialog } from './dialogs/erase-dialog.js';
import { KeyDialog } from './dialogs/key-dialog.js';
import { Icon } from './icons.js';
import { Sidebar } from './sidebar.js';
import { nameOf } from './state/conversation-name.js';
import type { Page } from './state/page.js';
import { useStore } from './state/store.js';
import type { Question } from './state/turn.js';
import { counted } from './text.js';
import { WireView } from './wire/wire-view.js';

/** The whole page. */
export function App({ page }: { page: Page }) {
  const { conversation, service, view, isDrawerOpen } = useStore(page);
  useStore(conversation);
  useStore(service.sessions);
  const { list: waiting } = useStore(service.inbox);
  const [erased, setErased] = useState<string>();
  const [kwargs, setKwargs] = useState('');
  const menu = useRef<HTMLButtonElement>(null);
  const title = titleOf(page);
  const agent = service.endpoint.name;
  useEffect(() => void (document.title = `${title} · ${agent}`), [title, agent]);
  const read = readKwargs(kwargs);
  const ask = ({ text, files }: Pick<Question, 'text' | 'files'>) => {
    if (read.fault !== undefined) return;
    const { session, others } = read;
    // From now on the page shows this session, until the user chooses another one.
    if (session !== undefined) setKwargs(Object.keys(others).length === 0 ? '' : JSON.stringify(others));
    void page.ask({ text, files, kwargs: others }, session);
  };
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
            aria-label={`Show conversations${waiting.length === 0 ? '' : `, ${counted(waiting.length, 'open request')}`}`}
            aria-expanded={isDrawerOpen}
            onClick={() => page.openDrawer(true)}
          >
            <Icon name="menu" />
            {waiting.length > 0 && <span class="badge">{waiting.length}</span>}
          </button>
          <div class="heading">
            <p class="agent" title={agent}>
              {agent}
            </p>
            <h1 title={title}>{title}</h1>
          </div>
          <Views page={page} />
        </header>
        <main>
          {view === 'wire' && <WireView wire={service.calls.wire} endpoint={service.endpoint} />}
          {/* It stays as the user left it, and takes files that are dropped. */}
          <div class="conversation" key={conversation.id} hidden={view !== 'conversation'}>
            <ConversationView
              page={page}
              conversation={conversation}
              onAsk={read.fault === undefined ? ask : undefined}
            />
            <Composer
              conversation={conversation}
              kwargs={kwargs}
              kwargsFault={read.fault}
              onKwargs={setKwargs}
              onAsk={ask}
            />
            <UsageLine conversation={conversation} />
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

const VIEWS = [
  ['conversation', 'Conversation', 'chat'],
  ['wire', 'On the wire', 'wire'],
] as const;

function Views({ page }: { page: Page }) {
  return (
    <div class="views" role="group" aria-label="View">
      {VIEWS.map(([view, name, icon]) => (
        <button key={view} type="button" aria-pressed={page.view === view} onClick={() => page.show(view)}>
          <Icon name={icon} />
          <span class="word">{name}</span>
        </button>
      ))}
    </div>
  );
}

function titleOf({ conversation, service }: Page): string {
  const { id, turns, earlier } = conversation;
  const known = service.sessions.find(id);
  // The first turns name a conversation. While they are not here, the list does.
  const name = earlier === 0 ? nameOf(turns.flatMap(({ question }) => question ?? [])) : undefined;
  if (name !== undefined) return name;
  if (known) return service.sessions.nameOf(known);
  return turns.length > 0 ? 'Conversation' : 'New conversation';
}
