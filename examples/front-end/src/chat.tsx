import { useChat } from '@ai-sdk/react';
import {
  DefaultChatTransport,
  type FileUIPart,
  getToolName,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
} from 'ai';
import { type FormEvent, useRef } from 'react';

interface ChatProps {
  chatId: string;
  /** What the service has of this conversation, with what it asks. */
  messages: UIMessage[];
  /** Loads the conversation again. */
  onReload: () => void;
}

export function Chat({ chatId, messages: earlier, onReload }: ChatProps) {
  const chosen = useRef<HTMLInputElement>(null);
  const { messages, sendMessage, status, stop, error, addToolApprovalResponse } = useChat({
    id: chatId,
    messages: earlier,
    transport: transportAfter(earlier.at(-1)),
    // Goes on with an answer that was not complete when the messages were loaded.
    resume: true,
    // Sends what the user has decided.
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const isBusy = status === 'submitted' || status === 'streaming';
  const newest = messages.at(-1);

  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget).get('text'));
    const files = chosen.current!.files!;
    if (text.trim() === '' && files.length === 0) return;
    void sendMessage({ text, files });
    event.currentTarget.reset();
  };

  const cancel = async () => {
    // Of itself, `stop` closes the connection only, and the agent goes on for a while.
    await fetch(`/ai/chat/${encodeURIComponent(chatId)}/stop`, { method: 'POST' });
    await stop();
  };

  return (
    <>
      <ol>
        {messages.map((message) => (
          <li key={message.id} className={message.role}>
            {message.parts.map((part, index) => (
              <Part
                key={index}
                part={part}
                // A newer message takes the place of an answer.
                onDecision={message === newest ? addToolApprovalResponse : undefined}
              />
            ))}
          </li>
        ))}
      </ol>
      {error && (
        <p role="alert">
          {sentenceOf(error)} <button onClick={onReload}>Load again</button>
        </p>
      )}
      <form className="ask" onSubmit={send}>
        <input name="text" placeholder="Ask the agent" autoComplete="off" />
        <input ref={chosen} type="file" multiple />
        {isBusy ? (
          <button type="button" onClick={cancel}>
            Stop
          </button>
        ) : (
          <button>Send</button>
        )}
      </form>
    </>
  );
}

/** With the newest message, `resume` gets the answer to it also if that is complete by then. */
function transportAfter(newest: UIMessage | undefined) {
  return new DefaultChatTransport({
    api: '/ai/chat',
    prepareReconnectToStreamRequest: ({ api, id }) => ({
      api: `${api}/${encodeURIComponent(id)}/stream?after=${encodeURIComponent(newest?.id ?? '')}`,
    }),
  });
}

interface PartProps {
  part: UIMessage['parts'][number];
  onDecision: ((decision: { id: string; approved: boolean }) => void) | undefined;
}

/** How a run has ended, where that says more than its answer. */
interface End {
  status: 'completed' | 'failed' | 'cancelled';
  error?: { message: string };
}

function Part({ part, onDecision }: PartProps) {
  if (part.type === 'text') return <p>{part.text}</p>;
  if (part.type === 'file') return <FileLink {...part} />;
  if (part.type === 'data-done') return <EndOfRun {...(part.data as End)} />;
  if (!isToolUIPart(part)) return null;
  const call = `${getToolName(part)} ${JSON.stringify(part.input)}`;
  if (part.state !== 'approval-requested' || !onDecision) return <p className="call">{call}</p>;
  const decide = (approved: boolean) => onDecision({ id: part.approval.id, approved });
  return (
    <section className="approval">
      <p>The agent asks for your approval: {call}</p>
      <button onClick={() => decide(true)}>Approve</button>
      <button onClick={() => decide(false)}>Decline</button>
    </section>
  );
}

function FileLink({ url, filename, mediaType }: FileUIPart) {
  // The response with a file of the agent says how it is named.
  return (
    <a href={url} download={filename ?? ''}>
      {filename ?? mediaType}
    </a>
  );
}

function EndOfRun({ status, error }: End) {
  if (status === 'completed') return null;
  return <p className="end">{error?.message ?? 'Stopped.'}</p>;
}

/** A refusal of the service is a problem (RFC 9457), one of the server a sentence. */
function sentenceOf({ message }: Error): string {
  try {
    const problem = JSON.parse(message) as { detail?: string; title?: string };
    return problem.detail ?? problem.title ?? message;
  } catch {
    return message;
  }
}
