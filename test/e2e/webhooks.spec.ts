import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { type DeliveryView, MemoryRunStore, type WebhookOptions } from '../../src/index.js';
import { TestClock } from '../../src/testing/index.js';
import { promise } from '../promises.js';
import { answer, askingRun, YES } from '../support/asking.js';
import { ask, get, request } from '../support/client.js';
import { deferred, eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host, startClockedAgent } from '../support/host.js';
import { switchedProtocol } from '../support/remote-service.js';
import { ScriptedAgent } from '../support/scripted-agent.js';
import { NEWER_SECRET, SECRET, WebhookReceiver } from '../support/webhook-receiver.js';

const SECOND = 1_000;
const HOUR = 60 * 60 * SECOND;
const dateNow = Date.now.bind(Date);

describeOnOneAdapter('Webhooks, on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  let clock: TestClock;
  let receiver: WebhookReceiver;
  /** The time of the store. It stands still until the test moves it. */
  let now: number;
  beforeEach(async () => {
    now = dateNow();
    Date.now = () => now;
    receiver = await WebhookReceiver.start();
  });
  afterEach(async () => {
    Date.now = dateNow;
    await host.close();
    await receiver.close();
  });

  const start = async (webhooks: WebhookOptions = {}, owner?: () => string) => {
    agent = new ScriptedAgent();
    clock = new TestClock();
    host = await startClockedAgent(adapter, clock, agent.handler, {
      store: new MemoryRunStore({ runMs: 1_000 * HOUR }),
      webhooks: { endpoints: [receiver.endpoint()], allowPrivate: true, ...webhooks },
      owner: owner ?? ((caller) => caller.headers['x-caller'] as string | undefined),
    });
  };
  const completedRun = async (text = 'Hi', headers = {}) => {
    const asked = await ask(host.url, text, { headers });
    (await agent.callFor(text)).finish();
    await asked.whole();
    return asked.runId;
  };
  const deliveriesOf = async (runId: string, headers = {}) => {
    const reply = await get(host.url, `/query/${runId}/deliveries`, headers);
    return (await reply.json<{ deliveries: DeliveryView[] }>()).deliveries;
  };
  const deliveryOf = async (runId: string) => (await deliveriesOf(runId))[0]!;
  /** Waits until the only delivery of a run was tried so often. */
  const tried = async (runId: string, tries: number) => {
    await eventually(async () => (await deliveryOf(runId)).tries === tries);
    return deliveryOf(runId);
  };
  const sendAgain = (runId: string, id: string, headers = {}) =>
    request(host.url, { path: `/query/${runId}/deliveries/${id}`, headers });
  /** Lets time pass in the store, and looks for what is due. */
  const pass = async (ms: number) => {
    now += ms;
    await clock.advance(SECOND);
  };

  it(promise('webhook.sent'), async () => {
    await start();
    const run = await askingRun(host, agent);
    await receiver.count(1);
    const [asks] = receiver.received;
    expect(asks!.path).toBe('/hook');
    expect(asks!.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'nest-agent-query',
      'webhook-id': (await deliveryOf(run.runId)).id,
    });
    const { events, status, endedAt, ...rest } = asks!.message.data.run;
    expect({ status, endedAt, events }).toEqual({ status: 'input_required', endedAt: null, events: 1 });
    expect(asks!.message).toMatchObject({ type: 'run.input_required', data: { inputs: ['refund-881'] } });
    await answer(host.url, run.runId, [YES]);
    await run.answers;
    run.call.finish();
    await run.asked.whole();
    await receiver.count(2);
    const completed = await (await get(host.url, `/query/${run.runId}`)).json();
    expect(completed).toMatchObject({ ...rest, status: 'completed', events: 3 });
    expect(JSON.parse(receiver.received[1]!.body)).toEqual({
      type: 'run.completed',
      timestamp: (completed as { endedAt: string }).endedAt,
      data: { run: completed },
    });
  });

  it(promise('webhook.sent', 'only to the endpoints that want the event'), async () => {
    await start({ endpoints: [receiver.endpoint({ events: ['run.failed', 'run.cancelled'] })] });
    const completed = await completedRun();
    const asked = await ask(host.url, 'cancelled');
    await agent.callFor('cancelled');
    await request(host.url, { method: 'DELETE', path: `/query/${asked.runId}` });
    const broken = await ask(host.url, 'failed');
    (await agent.callFor('failed')).fail(new Error('secret'));
    await broken.whole();
    await receiver.count(2);
    expect(receiver.received.map(({ message }) => message.type)).toEqual(['run.cancelled', 'run.failed']);
    expect(receiver.received[1]!.message.data.run.error).toEqual({
      code: 'handler_failed',
      message: expect.not.stringContaining('secret') as string,
    });
    expect(await deliveriesOf(completed)).toEqual([]);
  });

  it(promise('webhook.sent', 'with the metadata of the query, also after a failure'), async () => {
    await start();
    receiver.answer(500);
    const asked = await ask(host.url, 'Hi', { metadata: { team: 'sales' } });
    (await agent.callFor('Hi')).finish();
    await asked.whole();
    await tried(asked.runId, 1);
    await pass(6 * SECOND);
    await receiver.count(2);
    for (const { message } of receiver.received) expect(message.data.run.metadata).toEqual({ team: 'sales' });
  });

  it(promise('webhook.signed'), async () => {
    await start({ endpoints: [receiver.endpoint({ secret: [NEWER_SECRET, SECRET] })] });
    await completedRun();
    await receiver.count(1);
    const [{ body, headers }] = receiver.received as [(typeof receiver.received)[0]];
    for (const secret of [SECRET, NEWER_SECRET])
      expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toEqual(JSON.parse(body));
    const other = new Webhook(`whsec_${Buffer.alloc(24).toString('base64')}`);
    expect(() => other.verify(body, headers as Record<string, string>)).toThrow(
      'No matching signature found',
    );
    const forged = body.replace('completed', 'failed');
    expect(() => new Webhook(SECRET).verify(forged, headers as Record<string, string>)).toThrow();
  });

  it(promise('webhook.retried'), async () => {
    await start();
    receiver.answer(500);
    const runId = await completedRun();
    const pauses = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
    for (const [index, seconds] of pauses.entries()) {
      const { status, error, triedAt, dueAt } = await tried(runId, index + 1);
      expect([status, error]).toEqual(['waiting', 'The endpoint has answered 500.']);
      const pause = (Date.parse(dueAt!) - Date.parse(triedAt!)) / SECOND;
      expect(pause).toBeGreaterThanOrEqual(seconds);
      expect(pause).toBeLessThanOrEqual(1.1 * seconds);
      await pass(seconds * SECOND - 2 * SECOND);
      expect(receiver.received).toHaveLength(index + 1);
      await pass(0.1 * seconds * SECOND + 3 * SECOND);
    }
    expect(await tried(runId, 10)).toMatchObject({ status: 'failed', dueAt: null });
    await pass(100 * HOUR);
    expect(receiver.received).toHaveLength(10);
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-signature'])).size).toBe(10);
  });

  it(promise('webhook.retried', 'an endpoint that is down for a day'), async () => {
    await start();
    const { url } = receiver;
    await receiver.close();
    const runs = [await completedRun('a'), await completedRun('b')];
    for (const runId of runs)
      expect(await tried(runId, 1)).toMatchObject({ error: 'The endpoint cannot be reached.' });
    const up = new WebhookReceiver();
    for (let hours = 0; hours < 24; hours += 6) await pass(6 * HOUR);
    await up.listen(Number(new URL(url).port));
    receiver = up;
    await pass(24 * HOUR);
    await receiver.count(2);
    for (const runId of runs) await eventually(async () => (await deliveryOf(runId)).status === 'delivered');
    expect(receiver.received.map(({ message }) => message.data.run.id).sort()).toEqual(runs.sort());
  });

  it(promise('webhook.retry-after'), async () => {
    await start();
    receiver.answer(503, { 'Retry-After': '7200' });
    const runId = await completedRun();
    await tried(runId, 1);
    await pass(2 * HOUR - SECOND);
    receiver.answer(429, { 'Retry-After': new Date(Date.now() + 10 * HOUR).toUTCString() });
    expect(receiver.received).toHaveLength(1);
    await pass(0.3 * HOUR);
    const { triedAt, dueAt } = await tried(runId, 2);
    expect(Date.parse(dueAt!) - Date.parse(triedAt!)).toBeGreaterThan(9 * HOUR);
  });

  it(promise('webhook.gone'), async () => {
    await start();
    receiver.answer(410);
    const runId = await completedRun('a');
    const gone = await tried(runId, 1);
    expect(gone).toMatchObject({ status: 'failed', error: 'The endpoint has answered 410.' });
    const next = await completedRun('b');
    expect(await tried(next, 1)).toMatchObject({
      status: 'failed',
      error: 'The endpoint is disabled, because it has answered 410.',
    });
    expect(receiver.received).toHaveLength(1);
    receiver.answer(200);
    await sendAgain(runId, gone.id);
    expect(await tried(runId, 1)).toMatchObject({ status: 'delivered', error: null });
    expect((await tried(await completedRun('c'), 1)).status).toBe('delivered');
  });

  it(promise('webhook.redirects'), async () => {
    await start();
    for (const status of [301, 302, 307, 308]) {
      receiver.received.length = 0;
      receiver.answer(status, { Location: receiver.url.replace('hook', 'elsewhere') });
      expect(await tried(await completedRun(`${status}`), 1)).toMatchObject({
        status: 'waiting',
        error: `The endpoint has answered ${status}.`,
      });
      expect(receiver.received.map(({ path }) => path)).toEqual(['/hook']);
    }
  });

  it.each([
    ...['127.0.0.1', 'localhost', '[::1]', '0x7f.1', '0.0.0.0', '10.0.0.1', '169.254.169.254'],
    ...['[::ffff:127.0.0.1]', '[64:ff9b::7f00:1]', '[fc00::1]', '[fe80::1]', '[::]'],
  ])(promise('webhook.private', '%s'), async (name) => {
    const url = receiver.url.replace('127.0.0.1', name);
    await start({ endpoints: [receiver.endpoint({ url })], allowPrivate: false });
    expect(await tried(await completedRun(), 1)).toMatchObject({
      status: 'waiting',
      error: 'The address of the endpoint is not public.',
    });
    expect(receiver.received).toEqual([]);
  });

  it(promise('webhook.slow'), async () => {
    const quick = await WebhookReceiver.start();
    const other = { ...quick.endpoint({ name: 'log' }) };
    await start({ endpoints: [receiver.endpoint(), other] });
    receiver.reply = () => undefined;
    const runs = await Promise.all(Array.from({ length: 20 }, (_, index) => completedRun(`${index}`)));
    await quick.count(20);
    await receiver.count(16);
    await clock.advance(20 * SECOND);
    await receiver.count(20);
    await clock.advance(20 * SECOND);
    for (const runId of runs)
      await eventually(async () => {
        const [crm, log] = await deliveriesOf(runId);
        const late = crm!.error === 'The endpoint has not answered within 20 s.';
        return late && log!.status === 'delivered';
      });
    await quick.close();
  });

  it(promise('webhook.slow', 'also where it switches the protocol'), async () => {
    await start();
    receiver.reply = switchedProtocol;
    expect(await tried(await completedRun(), 1)).toMatchObject({
      status: 'waiting',
      error: 'The endpoint has answered 101.',
    });
    expect(clock.left('webhookMs')).toEqual([]);
  });

  it(promise('webhook.status'), async () => {
    await start();
    receiver.reply = (response) => void response.writeHead(200).write('and so on');
    const begun = deferred();
    const onResponse = (each: unknown) => {
      if ((each as { request: ClientRequest }).request.path === '/hook') begun.resolve();
    };
    subscribe('http.client.response.finish', onResponse);
    const runId = await completedRun();
    await begun.promise;
    unsubscribe('http.client.response.finish', onResponse);
    await clock.advance(20 * SECOND);
    expect(await tried(runId, 1)).toMatchObject({ status: 'delivered', error: null });
  });

  it(promise('webhook.long-response'), async () => {
    await start();
    let sent = 0;
    const closed = deferred();
    receiver.reply = (response) => {
      response.on('close', () => closed.resolve());
      const send = () => {
        while (!response.destroyed && response.write('a'.repeat(1024))) sent += 1024;
      };
      response.on('drain', send);
      send();
    };
    expect((await tried(await completedRun(), 1)).status).toBe('delivered');
    await closed.promise;
    // What the kernels of both sides hold is sent, but not read.
    expect(sent).toBeLessThan(32 * 1024 * 1024);
  });

  it(promise('webhook.long-response', 'also not of headers without an end'), async () => {
    await start();
    let sent = 0;
    receiver.reply = ({ socket }) => {
      const send = () => {
        while (!socket!.destroyed && socket!.write(`X-More: ${'a'.repeat(1024)}\r\n`)) sent += 1024;
      };
      socket!.on('drain', send).on('error', () => undefined);
      socket!.write('HTTP/1.1 200 OK\r\n');
      send();
    };
    expect(await tried(await completedRun(), 1)).toMatchObject({
      status: 'waiting',
      error: 'The endpoint cannot be reached.',
    });
    expect(sent).toBeLessThan(32 * 1024 * 1024);
  });

  it(promise('webhook.order'), async () => {
    await start();
    receiver.answer(500);
    const run = await askingRun(host, agent);
    await tried(run.runId, 1);
    await request(host.url, { method: 'DELETE', path: `/query/${run.runId}` });
    await pass(3 * SECOND);
    expect(receiver.received).toHaveLength(1);
    receiver.answer(200);
    await pass(10 * SECOND);
    await receiver.count(3);
    expect(receiver.received.map(({ message }) => message.type)).toEqual([
      ...['run.input_required', 'run.input_required', 'run.cancelled'],
    ]);
  });

  it(promise('webhook.listed'), async () => {
    await start({ endpoints: [receiver.endpoint(), receiver.endpoint({ name: 'log' })] });
    const runId = await completedRun();
    await eventually(async () => (await deliveriesOf(runId)).every(({ status }) => status === 'delivered'));
    const reply = await get(host.url, `/query/${runId}/deliveries`);
    const { endedAt } = await (await get(host.url, `/query/${runId}`)).json<{ endedAt: string }>();
    const { deliveries } = await reply.json<{ deliveries: DeliveryView[] }>();
    const sent = { event: 'run.completed', status: 'delivered', tries: 1, createdAt: endedAt };
    const isTime = expect.stringMatching(/^\d{4}-.*Z$/) as string;
    expect(deliveries).toEqual(
      ['crm', 'log'].map((endpoint, index) => {
        const { id } = deliveries[index]!;
        return { id, endpoint, ...sent, triedAt: isTime, dueAt: null, error: null };
      }),
    );
  });

  it(promise('webhook.again'), async () => {
    await start();
    const runId = await completedRun();
    const { id } = await tried(runId, 1);
    const reply = await sendAgain(runId, id);
    expect(reply.status).toBe(202);
    expect(await reply.json()).toMatchObject({ id, endpoint: 'crm' });
    await receiver.count(2);
    expect(receiver.received[1]!.body).toBe(receiver.received[0]!.body);
    expect(receiver.received[1]!.headers['webhook-id']).toBe(id);
    const unknown = await sendAgain(runId, 'msg_unknown');
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toMatchObject({
      code: 'not_found',
      detail: 'There is no such delivery, or it is no longer kept.',
    });
  });

  it(promise('webhook.owner'), async () => {
    await start();
    const runId = await completedRun('Hi', { 'x-caller': 'ann' });
    await eventually(async () => (await deliveriesOf(runId, { 'x-caller': 'ann' }))[0]!.tries === 1);
    const [{ id }] = (await deliveriesOf(runId, { 'x-caller': 'ann' })) as [DeliveryView];
    const others = { 'x-caller': 'bob' };
    const bodies = async (run: string) => {
      const replies = [
        await get(host.url, `/query/${run}/deliveries`, others),
        await sendAgain(run, id, others),
        await sendAgain(run, 'msg_unknown', others),
      ];
      expect(replies.map(({ status }) => status)).toEqual([404, 404, 404]);
      return Promise.all(replies.map((reply) => reply.whole()));
    };
    expect(await bodies(runId)).toEqual(await bodies('00000000-0000-4000-8000-000000000000'));
    await clock.advance(SECOND);
    expect(receiver.received).toHaveLength(1);
  });
});
