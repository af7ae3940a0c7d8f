/** npm `hono` on its Node server: `streamSSE`, waiting for each write where the plan can be held back. */
import { once } from 'node:events';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { isPulled, pull, push } from '../work.mjs';
import { message, planOf } from './query.mjs';

const event = (text) => ({ data: JSON.stringify(message(text)) });

export async function node() {
  const app = new Hono();
  app.post('/query', async (context) => {
    const plan = planOf(await context.req.json());
    return streamSSE(context, async (stream) => {
      if (isPulled(plan)) {
        for await (const text of pull(plan)) await stream.writeSSE(event(text));
        return;
      }
      let last;
      await new Promise((resolve) => {
        stream.onAbort(
          push(
            plan,
            (text) => (last = stream.writeSSE(event(text))),
            () => resolve(),
          ),
        );
      });
      await last;
    });
  });
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
  if (!server.listening) await once(server, 'listening');
  return server.address().port;
}
