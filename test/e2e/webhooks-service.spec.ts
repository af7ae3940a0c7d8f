import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AgentQueryClient } from 'nest-agent-query-client';
import { promise } from '../promises.js';
import { ask } from '../support/client.js';
import { quickCommand } from '../support/command-line.js';
import { refusalOf, serve, type SharedService, startService } from '../support/service.js';
import { SECRET, WebhookReceiver } from '../support/webhook-receiver.js';

describe('The webhooks of the service', () => {
  let directory: string;
  let receiver: WebhookReceiver;
  let service: SharedService | undefined;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'webhooks-'));
    receiver = await WebhookReceiver.start();
    await writeFile(join(directory, 'webhooks.json'), JSON.stringify([receiver.endpoint()]));
  });
  afterEach(async () => {
    await service?.stop();
    service = undefined;
    await receiver.close();
    await rm(directory, { recursive: true });
  });

  const variables = (more: Record<string, string> = {}) => ({
    AGENT: 'echo',
    DATABASE_URL: 'file:./runs.db',
    WEBHOOKS_FILE: './webhooks.json',
    WEBHOOKS_ALLOW_PRIVATE: 'true',
    ...more,
  });

  it(promise('service.webhooks-crash'), async () => {
    const killed = await startService(variables(), directory);
    service = killed;
    // It gets no answer.
    receiver.reply = () => undefined;
    const asked = await ask(service.url, 'Hi');
    await asked.whole();
    await receiver.count(1);
    killed.process.kill('SIGKILL');
    await killed.exited;
    service = await serve(variables(), directory);
    await receiver.count(2);
    const [first, second] = receiver.received;
    expect(second!.body).toBe(first!.body);
    expect(second!.headers['webhook-id']).toBe(first!.headers['webhook-id']);
    expect(second!.message).toMatchObject({ type: 'run.completed', data: { run: { id: asked.runId } } });
  });

  it(promise('service.webhooks'), async () => {
    const environment = variables({ AGENT: '', AGENTS: 'a=echo,b=echo', DATABASE_URL: 'memory:' });
    const service = await serve(environment, directory);
    const { url } = service;
    for (const [index, name] of ['a', 'b'].entries()) {
      await new AgentQueryClient({ baseUrl: url, path: `${name}/query` }).ask('Hi').text();
      await receiver.count(index + 1);
    }
    const [runId, other] = receiver.received.map(({ message }) => message.data.run.id) as [string, string];
    const run = (...parameters: string[]) =>
      quickCommand(['deliveries', '--agent', 'a', ...parameters], { AGENT_QUERY_URL: url });
    const listed = await run(runId);
    const [heading, line] = listed.stdout.split('\n');
    expect(heading!.split(/ {2,}/)).toEqual(['ID', 'ENDPOINT', 'EVENT', 'STATUS', 'TRIES', 'NEXT', 'ERROR']);
    const id = line!.split(' ', 1)[0]!;
    expect(line!.slice(id.length).trim().split(/ +/).slice(0, 2)).toEqual(['crm', 'run.completed']);
    const again = await run(runId, '--send-again', id, '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({ id, endpoint: 'crm' });
    await receiver.count(3);
    expect(receiver.received[2]!.headers['webhook-id']).toBe(id);
    expect(await run(other)).toMatchObject({ code: 3, stdout: '' });
    await service.stop();
  });

  it(promise('service.webhooks-file'), async () => {
    const refusal = async (text?: string) => {
      if (text !== undefined) await writeFile(join(directory, 'webhooks.json'), text);
      const { message } = await refusalOf(
        variables(text === undefined ? { WEBHOOKS_FILE: 'none' } : {}),
        directory,
      );
      return message;
    };
    const begin = 'nest-agent-query cannot start.\nWEBHOOKS_FILE names no file of endpoints.\n';
    expect(await refusal()).toBe(`${begin}The file "none" cannot be read (ENOENT).\n`);
    expect(await refusal(`[{"secret":"${SECRET}"`)).toBe(`${begin}It is not valid JSON.\n`);
    expect(await refusal('{}')).toBe(`${begin}endpoints must be an array of endpoints.\n`);
    const secret = 'whsec_c2hvcnQ=';
    const url = 'https://user:password@example.com';
    const endpoints = [receiver.endpoint(), { name: 'crm', url, secret, events: ['run.ended'], more: 1 }, 1];
    const events = 'run.completed, run.failed, run.cancelled, run.input_required';
    expect(await refusal(JSON.stringify(endpoints))).toBe(
      begin +
        'endpoints[1].url must be a URL that begins with https: or http:, without a user.\n' +
        'endpoints[1].secret must be "whsec_" and the base64 of 24 to 64 bytes, or an array of such secrets.\n' +
        `endpoints[1].events must be an array of ${events}.\n` +
        'endpoints[1].more is not a member of an endpoint.\n' +
        'endpoints[1].name is that of another endpoint.\n' +
        'endpoints[2] must be an object.\n',
    );
  });
});
