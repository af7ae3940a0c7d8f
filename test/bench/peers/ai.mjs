/** npm `ai`: its UI message stream, a text delta per event. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { createUIMessageStream, pipeUIMessageStreamToResponse } from 'ai';
import { push } from '../work.mjs';
import { planOf } from './query.mjs';

export async function http() {
  const server = createServer(async (request, response) => {
    const plan = planOf(await json(request));
    const execute = ({ writer }) =>
      new Promise((resolve) => {
        writer.write({ type: 'text-start', id: '1' });
        const end = () => {
          writer.write({ type: 'text-end', id: '1' });
          resolve();
        };
        const leave = push(plan, (delta) => writer.write({ type: 'text-delta', id: '1', delta }), end);
        response.on('close', leave);
      });
    pipeUIMessageStreamToResponse({ response, stream: createUIMessageStream({ execute }) });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server.address().port;
}
