import {
  ActionBarPrimitive,
  AssistantRuntimeProvider,
  AttachmentPrimitive,
  BranchPickerPrimitive,
  ComposerPrimitive,
  ErrorPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
} from '@assistant-ui/react';
import { AssistantChatTransport, useAISDKRuntime, useChatRuntime } from '@assistant-ui/react-ai-sdk';
import { useChat } from '@ai-sdk/react';
import { lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { createRoot } from 'react-dom/client';

const { searchParams, hash } = new URL(location.href);
const id = hash.slice(1);
/** A refusal of the service is a problem (RFC 9457): its sentence is shown. */
async function fetchOrThrow(input, init) {
  const response = await fetch(input, init);
  if (response.ok) return response;
  const { detail, title } = await response.json();
  throw new Error(detail ?? title);
}

/** As the quick start of assistant-ui: a new thread with each load of the page. */
function QuickStart() {
  const runtime = useChatRuntime({
    transport: new AssistantChatTransport({ api: '/ai/chat', fetch: fetchOrThrow }),
  });
  return <Assistant runtime={runtime} />;
}

/** A chat that is loaded again. */
function Chat({ id, messages }) {
  const after = messages.at(-1)?.id ?? '';
  const chat = useChat({
    id,
    messages,
    resume: true,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    transport: new AssistantChatTransport({
      api: '/ai/chat',
      fetch: fetchOrThrow,
      prepareReconnectToStreamRequest: ({ api }) => ({
        api: `${api}/${encodeURIComponent(id)}/stream?after=${encodeURIComponent(after)}`,
      }),
    }),
  });
  return <Assistant runtime={useAISDKRuntime(chat)} />;
}

/** Of itself, a stop closes the connection only. */
const stopRun = () => void fetch(`/ai/chat/${id}/stop`, { method: 'POST' });

function Assistant({ runtime }) {
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ThreadPrimitive.Root>
        <ThreadPrimitive.Viewport>
          <ThreadPrimitive.Messages components={{ UserMessage, AssistantMessage, EditComposer }} />
        </ThreadPrimitive.Viewport>
        <ComposerPrimitive.Root className="composer">
          <ComposerPrimitive.Attachments components={{ Attachment }} />
          <ComposerPrimitive.AddAttachment>Attach</ComposerPrimitive.AddAttachment>
          <ComposerPrimitive.Input placeholder="Ask the agent" />
          <ThreadPrimitive.If running={false}>
            <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
          </ThreadPrimitive.If>
          <ThreadPrimitive.If running>
            <ComposerPrimitive.Cancel onClick={stopRun}>Stop</ComposerPrimitive.Cancel>
          </ThreadPrimitive.If>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

function Attachment() {
  return (
    <AttachmentPrimitive.Root className="attachment">
      <AttachmentPrimitive.Name />
    </AttachmentPrimitive.Root>
  );
}

function UserMessage() {
  return (
    <MessagePrimitive.Root className="message">
      <MessagePrimitive.Attachments components={{ Attachment }} />
      <span className="text">
        <MessagePrimitive.Parts components={{ File }} />
      </span>
      <ActionBarPrimitive.Edit>Edit</ActionBarPrimitive.Edit>
      <Branches />
    </MessagePrimitive.Root>
  );
}

function EditComposer() {
  return (
    <ComposerPrimitive.Root className="edit">
      <ComposerPrimitive.Input />
      <ComposerPrimitive.Send>Update</ComposerPrimitive.Send>
    </ComposerPrimitive.Root>
  );
}

function AssistantMessage() {
  return (
    <MessagePrimitive.Root className="message">
      <span className="text">
        <MessagePrimitive.Parts components={{ File, Source, tools: { Fallback: Call } }} />
      </span>
      <MessagePrimitive.Error>
        <ErrorPrimitive.Root>
          <ErrorPrimitive.Message />
        </ErrorPrimitive.Root>
      </MessagePrimitive.Error>
      <ActionBarPrimitive.Reload>Reload</ActionBarPrimitive.Reload>
      <Branches />
    </MessagePrimitive.Root>
  );
}

const Branches = () => (
  <BranchPickerPrimitive.Root hideWhenSingleBranch>
    <BranchPickerPrimitive.Previous>Previous</BranchPickerPrimitive.Previous>
    <BranchPickerPrimitive.Number />/<BranchPickerPrimitive.Count />
  </BranchPickerPrimitive.Root>
);

const File = ({ filename, mimeType }) => <>[{filename ?? mimeType}]</>;
const Source = ({ url }) => <>[{url}]</>;

function Call({ toolName, approval, result, respondToApproval }) {
  if (approval && approval.approved === undefined && result === undefined)
    return (
      <span className="approval">
        [{toolName}?]
        <button onClick={() => respondToApproval({ approved: true })}>Approve</button>
        <button onClick={() => respondToApproval({ approved: false })}>Decline</button>
      </span>
    );
  return <>{`[${toolName} ${JSON.stringify(result) ?? ''}]`}</>;
}

async function chatOf() {
  const loaded = await fetch(`/ai/chat/${id}`);
  return <Chat id={id} messages={loaded.ok ? (await loaded.json()).messages : []} />;
}

createRoot(document.querySelector('main')).render(
  searchParams.has('quick-start') ? <QuickStart /> : await chatOf(),
);
