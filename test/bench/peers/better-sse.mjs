/** npm `better-sse` on Express, a push per event. */
import { once } from 'node:events';
import { createSession } from 'better-sse';
import expressFactory from 'express';
import { push } from '../work.mjs';
import { message, planOf } from './query.mjs';

export async function express() {
  const app = expressFactory();
  app.post('/query', expressFactory.json(), async (request, response) => {
    const plan = planOf(request.body);
    // Its keep-alive continues after the response has ended, and an error there would end the process.
    const session = await createSession(request, response, { keepAlive: null });
    const leave = push(
      plan,
      (text) => session.push(message(text)),
      () => response.end(),
    );
    session.on('disconnected', leave);
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server.address().port;
}
