import '@copilotkit/react-core/v2/styles.css';
import {
  CopilotChat,
  CopilotKitProvider,
  HttpAgent,
  useFrontendTool,
  useInterrupt,
  useRenderTool,
} from '@copilotkit/react-core/v2';
import { createRoot } from 'react-dom/client';
import { z } from 'zod';

const { searchParams, hash } = new URL(location.href);
const threadId = hash.slice(1);

/** Loads a thread. */
class ThreadAgent extends HttpAgent {
  connect(input) {
    return new HttpAgent({ url: `${this.url}/connect`, headers: this.headers }).run(input);
  }
}

function Chat() {
  useRenderTool({
    name: 'look',
    parameters: z.any(),
    render: ({ status, result }) => <p className="look">{`[look ${status} ${result ?? ''}]`}</p>,
  });
  useFrontendTool({
    name: 'place',
    description: 'Where the user is',
    parameters: z.object({}),
    handler: async () => 'Rome',
  });
  useInterrupt({
    render: ({ interrupt, resolve, cancel }) => (
      <section className="interrupt">
        <p>{interrupt?.message}</p>
        <button onClick={() => resolve({ approved: true })}>Approve</button>
        <button onClick={() => resolve({ approved: false, reason: 'No' })}>Decline</button>
        <button onClick={() => cancel()}>Cancel</button>
      </section>
    ),
  });
  return (
    <CopilotChat
      threadId={threadId}
      attachments={{ enabled: true }}
      onError={({ error }) => (document.querySelector('#error').textContent += `${error.message}\n`)}
    />
  );
}

const agents = { default: new ThreadAgent({ url: '/ag-ui' }) };
const runtimeUrl = searchParams.get('runtime');
const source = runtimeUrl ? { runtimeUrl } : { selfManagedAgents: agents };

createRoot(document.querySelector('main')).render(
  <>
    <p id="error" role="alert"></p>
    <CopilotKitProvider {...source}>
      <Chat />
    </CopilotKitProvider>
  </>,
);
