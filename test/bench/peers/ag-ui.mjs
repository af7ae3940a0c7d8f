/** npm `@ag-ui/encoder` on Express, as the guide of AG-UI shows it: an encoded event per chunk. */
import { once } from 'node:events';
import { EventType } from '@ag-ui/core';
import { EventEncoder } from '@ag-ui/encoder';
import expressFactory from 'express';
import { push } from '../work.mjs';

export async function express() {
  const app = expressFactory();
  app.post('/query', expressFactory.json(), (request, response) => {
    const { threadId, runId, messages } = request.body;
    const encoder = new EventEncoder({ accept: 'text/event-stream' });
    const write = (event) => response.write(encoder.encode(event));
    response.setHeader('Content-Type', encoder.getContentType());
    write({ type: EventType.RUN_STARTED, threadId, runId });
    write({ type: EventType.TEXT_MESSAGE_START, messageId: '1', role: 'assistant' });
    const end = () => {
      write({ type: EventType.TEXT_MESSAGE_END, messageId: '1' });
      write({ type: EventType.RUN_FINISHED, threadId, runId });
      response.end();
    };
    const emit = (delta) => write({ type: EventType.TEXT_MESSAGE_CONTENT, messageId: '1', delta });
    response.on('close', push(messages[0].content, emit, end));
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server.address().port;
}
