import OpenAI from 'openai';
import { ask } from '../../../test/support/client.js';
import { ONE_ADAPTER, startAgent } from '../../../test/support/host.js';
import { ScriptedAgent } from '../../../test/support/scripted-agent.js';
import { SECRET, WebhookReceiver } from '../../../test/support/webhook-receiver.js';

it('A webhook passes the check of the client of OpenAI', async () => {
  const receiver = await WebhookReceiver.start();
  const agent = new ScriptedAgent();
  const webhooks = { endpoints: [receiver.endpoint()], allowPrivate: true };
  const host = await startAgent(ONE_ADAPTER, agent.handler, { webhooks });
  const asked = await ask(host.url, 'Hi');
  (await agent.call(1)).finish();
  await asked.whole();
  await receiver.count(1);
  const [{ body, headers }] = receiver.received as [WebhookReceiver['received'][0]];
  const client = new OpenAI({ apiKey: 'none', webhookSecret: SECRET });
  expect(await client.webhooks.unwrap(body, headers as Record<string, string>)).toEqual(JSON.parse(body));
  await expect(client.webhooks.unwrap(`${body} `, headers as Record<string, string>)).rejects.toThrow();
  await host.close();
  await receiver.close();
});
