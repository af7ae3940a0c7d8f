import { experimental_useObject as useObject } from '@ai-sdk/react';
import { jsonSchema } from 'ai';
import { AgentQueryClient } from 'nest-agent-query-client';
import { createRoot } from 'react-dom/client';

const client = new AgentQueryClient();

/** Asks the agent, and has the text of its answer as the body of a response. */
async function askForObject(_api, { body, signal }) {
  const answer = client.ask(JSON.parse(body).prompt);
  signal.addEventListener('abort', () => void answer.cancel());
  const texts = new ReadableStream({
    async start(controller) {
      for await (const { type, data } of answer) if (type === 'message') controller.enqueue(data.content);
      // Throws if the run has failed.
      await answer.text();
      controller.close();
    },
  });
  return new Response(texts.pipeThrough(new TextEncoderStream()));
}

function Form() {
  const { object, submit, stop, isLoading, error } = useObject({
    api: 'the agent',
    schema: jsonSchema({ type: 'object' }),
    fetch: askForObject,
  });
  return (
    <>
      <button onClick={() => submit({ prompt: 'A recipe' })}>Ask</button>
      <button onClick={stop}>Stop</button>
      <pre>{JSON.stringify(object)}</pre>
      <p id="status">{isLoading ? 'loading' : 'ready'}</p>
      <p role="alert">{error?.message}</p>
    </>
  );
}

createRoot(document.querySelector('main')).render(<Form />);
