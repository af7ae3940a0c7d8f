import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../icons.js';
import type { Conversation } from '../state/conversation.js';
import type { Page } from '../state/page.js';
import type { Suggestion } from '../answer/suggestions.js';
import { copyText } from '../copy-text.js';
import { focusMessage } from '../focus-message.js';
import { Suggestions } from './suggestions.js';
import { TurnBoundary } from './turn-boundary.js';
import { TurnView } from './turn-view.js';
import { VersionPager } from './version-pager.js';

/** So close to the end counts as the end, in pixels. */
const NEAR = 48;

/** What each agent understands. */
const FIRST: Suggestion[] = [{ text: 'What can you do?', label: undefined, files: [] }];

/** The turns of a conversation. It stays at the end while the user is there. */
export function ConversationView({
  page,
  conversation,
  onAsk,
}: {
  page: Page;
  conversation: Conversation;
  /** Undefined while nothing can be sent. */
  onAsk: ((suggestion: Suggestion) => void) | undefined;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [isAway, setAway] = useState(false);
  const { turns, isLoading, fault, earlier } = conversation;
  const toEnd = () => scroller.current?.scrollTo({ top: scroller.current.scrollHeight });

  const count = useRef(turns.length);
  useLayoutEffect(() => {
    // What the user has just asked is shown, wherever the user was.
    const isNew = turns.length > count.current && turns.at(-1)?.status === 'sending';
    count.current = turns.length;
    if (isNew) isAtEnd.current = true;
    if (isAtEnd.current) toEnd();
  });
  useEffect(() => {
    const { current } = scroller;
    if (!current) return;
    // Images and the writing area change the height too.
    const observer = new ResizeObserver(() => isAtEnd.current && toEnd());
    observer.observe(current);
    observer.observe(current.firstElementChild!);
    return () => observer.disconnect();
  }, []);
  const onScroll = ({
    currentTarget: { scrollHeight, scrollTop, clientHeight },
  }: {
    currentTarget: HTMLElement;
  }) => {
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR;
    setAway(!isAtEnd.current);
  };

  const newest = turns.at(-1);
  // The page is drawn once per frame: a second click may come before the suggestions are gone.
  const askOnce =
    onAsk && ((suggestion: Suggestion) => conversation.turns.at(-1) === newest && onAsk(suggestion));
  const isEmpty = turns.length === 0 && !isLoading && fault === undefined;
  return (
    <div class="turns-frame">
      <div class="turns" ref={scroller} onScroll={onScroll} onClick={copyCode}>
        <div class="column">
          {isLoading && turns.length === 0 && <p class="quiet loading">Loading…</p>}
          {fault !== undefined && (
            <div class="failure">
              <p>{fault}</p>
              <button type="button" class="secondary" onClick={() => void conversation.load()}>
                Try again
              </button>
            </div>
          )}
          {earlier > 0 && turns.length > 0 && (
            <button type="button" class="more" onClick={() => void conversation.loadEarlier()}>
              Show earlier turns
            </button>
          )}
          {isEmpty && (
            <div class="empty">
              <h2>Ask the agent</h2>
              <p>
                Send a text, files, or both. The answer is kept while you reload, and after a lost connection.
              </p>
              <Suggestions items={FIRST} onAsk={askOnce} />
            </div>
          )}
          {turns.map((turn) => (
            <TurnBoundary key={turn.key}>
              <VersionPager page={page} number={conversation.numberOf(turn)} />
              <TurnView turn={turn} version={turn.version} conversation={conversation} page={page} />
            </TurnBoundary>
          ))}
          {newest && !newest.isLive && <Suggestions items={newest.answer.suggestions} onAsk={askOnce} />}
        </div>
      </div>
      {isAway && (
        <button
          type="button"
          class="to-end"
          aria-label="Go to the end"
          onClick={() => {
            toEnd();
            focusMessage();
          }}
        >
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}

/** The buttons of code blocks are part of the Markdown. */
function copyCode({ target }: Event): void {
  const button = (target as Element).closest<HTMLElement>('.copy-code');
  const code = button?.closest('.code')?.querySelector('pre')?.textContent;
  if (!button || code === undefined || code === null) return;
  void copyText(code).then((isCopied) => {
    button.textContent = isCopied ? 'Copied' : 'Not copied';
    setTimeout(() => (button.textContent = 'Copy code'), 2000);
  });
}
