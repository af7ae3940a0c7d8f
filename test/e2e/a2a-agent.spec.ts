import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TaskState } from '@a2a-js/sdk';
import { promise } from '../promises.js';
import { ask, cancel, follow, FULL, get, request } from '../support/client.js';
import { type Deferred, deferred, eventuallyElsewhere } from '../support/conditions.js';
import { IS_LONG } from '../support/long-form.js';
import { serve, type SharedService, startService } from '../support/service.js';
import { joined, validOf } from '../../packages/a2a/test/outcomes.js';
import { part, ReferenceAgent, text } from '../../packages/a2a/test/reference-agent.js';

describe('AGENT=remote with the card of an agent', () => {
  let reference: ReferenceAgent;
  let directory: string;
  let service: SharedService | undefined;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'a2a-'));
    reference = await ReferenceAgent.start();
  });
  afterEach(async () => {
    await service?.stop();
    service = undefined;
    await reference.stop();
    await rm(directory, { recursive: true });
  });

  const variables = (more: Record<string, string> = {}) => ({
    AGENT: 'remote',
    REMOTE_URL: reference.url,
    REMOTE_HEADERS: 'X-Key: k1',
    ...more,
  });

  it(promise('a2a.answer'), async () => {
    reference.script = (task) => {
      const [, file] = task.message.parts;
      task.begin();
      task.artifact('echo', [text('Here: '), text(JSON.stringify(task.message.metadata))]);
      task.artifact('file', [file!]);
      task.complete();
    };
    service = await serve(variables({ API_KEYS: `ann:${sha256('ka')},ben:${sha256('kb')}` }));
    const base64 = Buffer.from('rows').toString('base64');
    const file = { type: 'file', name: 'a.csv', mimeType: 'text/csv', base64 };
    const kwargs = { session_id: 's', tone: 1 };
    const body = JSON.stringify({ parts: [{ type: 'text', text: 'Hi' }, file], kwargs });
    for (const key of ['ka', 'kb']) {
      const reply = await request(service.url, { headers: { 'X-API-Key': key } }, body);
      const [message, answer, done] = joined(await reply.allEnvelopes());
      expect([message, done]).toEqual([
        { type: 'message', data: { id: 'echo', content: 'Here: {"tone":1}' } },
        { type: 'done', data: { status: 'completed' } },
      ]);
      const { path } = answer!.data as { path: string };
      const download = await get(service.url, path, { 'X-API-Key': key });
      expect([await download.whole(), download.bytes.toString()]).toEqual([expect.anything(), 'rows']);
    }
    const contexts = reference.messages.map(({ contextId }) => contextId);
    expect(new Set(contexts).size).toBe(2);
    expect(reference.headers.every((headers) => headers['x-key'] === 'k1')).toBe(true);
  });

  it(promise('a2a.cancel'), async () => {
    const stopped = deferred();
    reference.script = async (task) => {
      task.begin();
      task.artifact('a', [text('On it')]);
      await stopped.promise;
    };
    reference.cancelled = (task) => {
      task.status(TaskState.TASK_STATE_CANCELED);
      stopped.resolve();
    };
    service = await serve(variables());
    const reply = await ask(service.url, 'x', { headers: FULL });
    await reply.until('On it');
    expect((await cancel(service.url, reply.runId)).status).toBe(200);
    expect(reference.calls).toContain('CancelTask');
  });

  it(promise('a2a.killed'), async () => {
    const environment = variables({ DATABASE_URL: `file:${join(directory, 'runs.db')}` });
    const [away, again] = [deferred(), deferred()];
    reference.script = async (task) => {
      task.begin();
      task.artifact('a', [text('word 0 ')]);
      await away.promise;
      task.artifact('a', [text('word 1 ')], true);
      await again.promise;
      task.artifact('b', [part({ $case: 'data', value: 'end' })]);
      task.complete();
    };
    let killed = await startService(environment);
    service = killed;
    const reply = await ask(killed.url, 'x', { headers: FULL });
    await reply.until('word 0');
    const afterKill = async (gate: Deferred, start: () => Promise<SharedService>) => {
      killed.process.kill('SIGKILL');
      await killed.exited;
      gate.resolve();
      const { length } = reference.calls;
      service = await start();
      await eventuallyElsewhere(() => reference.calls.slice(length).includes('SubscribeToTask'));
    };
    // A second kill executes the same code: `durable.spec.ts` of the package has what an attempt finds.
    if (IS_LONG) await afterKill(away, async () => (killed = await startService(environment)));
    // Nobody kills the last one.
    await afterKill(IS_LONG ? again : away, () => serve(environment));
    again.resolve();
    const envelopes = await (await follow(service.url, reply.runId)).allEnvelopes();
    expect(envelopes.filter(({ type }) => type === 'restarted')).toHaveLength(IS_LONG ? 2 : 1);
    expect(joined(validOf(envelopes))).toEqual([
      { type: 'message', data: { id: 'a', content: 'word 0 word 1 ' } },
      { type: 'result', data: { value: 'end' } },
      { type: 'done', data: { status: 'completed' } },
    ]);
    expect(reference.messages.map(({ messageId }) => messageId)).toEqual([reply.runId]);
  });
});

function sha256(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
