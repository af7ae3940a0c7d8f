import { memo } from 'preact/compat';
import { AnswerItems } from '../answer/answer-items.js';
import { CopyButton } from '../copy-button.js';
import { focusMessage } from '../focus-message.js';
import { Icon } from '../icons.js';
import type { Conversation } from '../state/conversation.js';
import type { Page } from '../state/page.js';
import type { Turn } from '../state/turn.js';
import { QuestionView } from './question-view.js';
import { RunDetails } from './run-details.js';

interface Props {
  turn: Turn;
  /** Draws the turn again when it changes. */
  version: number;
  conversation: Conversation;
  page: Page;
}

/** A question and its answer. */
export const TurnView = memo(function TurnView({ turn, conversation, page }: Props) {
  const { question, isLive, upload } = turn;
  const mayChange = !isLive && turn.runId !== undefined && question?.isCut !== true;
  const askInstead = (text: string) => void page.askInstead(turn, text);
  const isAsking = turn.openRequests.length > 0;
  return (
    <article class="turn">
      <section class="question">
        <h2 class="unseen">You asked</h2>
        {question ? (
          <QuestionView question={question} onEdit={mayChange ? askInstead : undefined} />
        ) : (
          <p class="quiet">Asked in another window.</p>
        )}
      </section>
      <section class="answer" aria-busy={isLive && !isAsking}>
        <h2 class="unseen">The agent answered</h2>
        {upload && <Upload {...upload} />}
        <AnswerItems turn={turn} conversation={conversation} />
        {isLive && !upload && <Waiting turn={turn} />}
        <End turn={turn} conversation={conversation} onAgain={mayChange ? askInstead : undefined} />
      </section>
    </article>
  );
});

function Upload({ sent, total }: NonNullable<Turn['upload']>) {
  const part = total ? sent / total : undefined;
  return (
    <label class="progress">
      {part === 1
        ? 'Uploaded. The service reads the files.'
        : `Uploading${part === undefined ? '' : ` ${Math.floor(part * 100)} %`}`}
      <progress value={part} />
    </label>
  );
}

/** What the page waits for. */
function Waiting({ turn: { notice, answer, isStopping, openRequests } }: { turn: Turn }) {
  const { progress } = answer;
  if (notice !== undefined) return <p class="notice">{notice}</p>;
  if (openRequests.length > 0 && !isStopping)
    return <p class="quiet">The agent waits for {openRequests.length === 1 ? 'an answer' : 'answers'}.</p>;
  if (!progress) {
    return (
      <p>
        <span class="dots" aria-hidden="true">
          <i />
          <i />
          <i />
        </span>
        <span class="unseen">{isStopping ? 'Stopping' : 'Answering'}</span>
      </p>
    );
  }
  const { done, total, unit = '', label = 'Working' } = progress;
  const amount = `${done.toLocaleString('en')}${total === undefined ? '' : ` of ${total.toLocaleString('en')}`} ${unit}`;
  return (
    <label class="progress">
      <span>
        {label} <small>{amount}</small>
      </span>
      <progress value={total ? Math.min(1, done / total) : undefined} />
    </label>
  );
}

/** What a button does that may be gone then. */
function leaving(action: () => unknown): () => void {
  return () => {
    void action();
    focusMessage();
  };
}

/** How the run ended, and what can be done now. */
function End({
  turn,
  conversation,
  onAgain,
}: {
  turn: Turn;
  conversation: Conversation;
  /** Asks a text in place of the question. */
  onAgain: ((text: string) => void) | undefined;
}) {
  const { status, failure, answer, question } = turn;
  const { text } = answer;
  if (turn.isLive && text === '') return null;
  return (
    <>
      {failure && (
        <div class="failure">
          <p>{failure.message}</p>
          {failure.faults.length > 0 && (
            <ul>
              {failure.faults.map((fault) => (
                <li key={fault}>{fault}</li>
              ))}
            </ul>
          )}
          <code>{failure.code}</code>
        </div>
      )}
      {status === 'cancelled' && <p class="quiet">Stopped.</p>}
      <div class="turn-tools">
        {text !== '' && <CopyButton name="Copy" text={() => answer.text} />}
        {turn.wholeText !== undefined && (
          <button type="button" class="plain small" onClick={leaving(() => conversation.loadWhole(turn))}>
            <Icon name="down" />
            Show the whole answer
          </button>
        )}
        {status === 'broken' && (
          <button type="button" class="plain small" onClick={leaving(() => conversation.resume(turn))}>
            <Icon name="retry" />
            Reconnect
          </button>
        )}
        {status === 'completed' && question && onAgain && (
          <button type="button" class="plain small" onClick={leaving(() => onAgain(question.text))}>
            <Icon name="retry" />
            <span class="word">Regenerate</span>
          </button>
        )}
        {!turn.isLive && status !== 'completed' && question && !question.isCut && (
          <button type="button" class="plain small" onClick={leaving(() => conversation.retry(turn))}>
            <Icon name="retry" />
            Retry
          </button>
        )}
        {!turn.isLive && turn.runId !== undefined && <RunDetails turn={turn} calls={conversation.calls} />}
      </div>
    </>
  );
}
