import { useChat } from '@ai-sdk/react';
import {
  DefaultChatTransport,
  getToolName,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from 'ai';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';

const { searchParams, hash } = new URL(location.href);
const id = hash.slice(1);
const isStrict = searchParams.has('strict');

/** A page as in docs/protocols.md. What its buttons would call, a test calls. */
function Chat({ messages: earlier }) {
  const chat = useChat({
    id,
    messages: earlier,
    resume: true,
    experimental_queue: searchParams.has('queue'),
    transport: new DefaultChatTransport({
      api: '/ai/chat',
      prepareReconnectToStreamRequest: ({ api }) => ({
        api: `${api}/${id}/stream?after=${earlier.at(-1)?.id ?? ''}`,
      }),
    }),
    onToolCall({ toolCall }) {
      if (toolCall.toolName === 'place')
        void chat.addToolOutput({ tool: 'place', toolCallId: toolCall.toolCallId, output: 'Rome' });
    },
    sendAutomaticallyWhen: (options) =>
      lastAssistantMessageIsCompleteWithApprovalResponses(options) ||
      lastAssistantMessageIsCompleteWithToolCalls(options),
  });
  window.chat = chat;
  return (
    <>
      <ol>
        {chat.messages.map((message) => (
          <li key={message.id}>{message.parts.map(shown).join('')}</li>
        ))}
      </ol>
      <p id="status">{chat.status}</p>
      <p role="alert">{chat.error?.message}</p>
    </>
  );
}

function shown(part) {
  if (part.type === 'text') return part.text;
  if (part.type === 'reasoning') return `<${part.text}>`;
  if (part.type === 'file') return `[${part.filename ?? part.mediaType}]`;
  if (isToolUIPart(part)) return `[${getToolName(part)} ${part.state}]`;
  return part.type === 'source-url' ? `[${part.url}]` : '';
}

const loaded = await fetch(`/ai/chat/${id}`);
const { messages = [] } = loaded.ok ? await loaded.json() : {};
const chat = <Chat messages={messages} />;
createRoot(document.querySelector('main')).render(isStrict ? <StrictMode>{chat}</StrictMode> : chat);
