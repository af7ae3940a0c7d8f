import { EventEmitter } from 'node:events';
import { QueryError, type RunView } from 'nest-agent-query';
import type { HostRequest, HostResponse, ReceivedBody } from 'nest-agent-query/protocol';
import type { View } from '../../view/view.js';
import { type Begun, Repeats } from './repeats.js';

type Kept = Partial<RunView> | undefined;

function setUp(kept: Kept, body: unknown = { input: 'Hi' }) {
  const agent = {
    find: () => (kept ? Promise.resolve(kept) : Promise.reject(new QueryError('not_found', 'Gone.'))),
    follow: () => ({}),
  };
  const repeats = new Repeats({ endpoint: { agent } } as unknown as View);
  /** Returns the id of the run; its answer ends as given. */
  return async (count: number, end?: { status: number; isSent?: boolean }, address = '192.0.2.1') => {
    const headers = { 'x-stainless-retry-count': `${count}` };
    const request = { url: '/v1/responses', headers, socket: { remoteAddress: address } };
    const response = Object.assign(new EventEmitter(), { statusCode: end?.status, destroyed: false });
    const submission = {
      request: request as unknown as HostRequest,
      response: response as unknown as HostResponse,
      owner: 'anonymous',
      body: { value: body } as ReceivedBody,
    };
    const { run } = await repeats.once(submission, () =>
      Promise.resolve({ run: { id: 'new' } } as unknown as Begun),
    );
    if (end?.isSent !== false) response.emit('finish');
    response.emit('close');
    return run.id;
  };
}

describe('A repeat', () => {
  const found: Kept = { id: 'found', status: 'running' };

  it.each<[string, string, Kept, { status: number; isSent?: boolean }]>([
    ['found', 'an answer that was not sent whole', found, { status: 200, isSent: false }],
    ['found', 'a status that its client repeats', found, { status: 503 }],
    ['new', 'an answer that was sent', found, { status: 200 }],
    ['new', 'the failure of a run', found, { status: 400 }],
    ['new', 'a run that is gone', undefined, { status: 503 }],
    ['new', 'a run that was cancelled', { ...found, status: 'cancelled' }, { status: 503 }],
    [
      'new',
      'a run that was interrupted',
      { ...found, status: 'failed', error: { code: 'interrupted', message: '' } },
      { status: 503 },
    ],
  ])('is a run that is %s after %s', async (id, _, kept, end) => {
    const send = setUp(kept);
    expect(await send(0, end)).toBe('new');
    expect(await send(1)).toBe(id);
  });

  it('comes from the same address, if nobody has identified its caller', async () => {
    const send = setUp(found);
    await send(0, { status: 503 });
    expect(await send(1, undefined, '192.0.2.2')).toBe('new');
    expect(await send(1)).toBe('found');
  });

  it('is found by a long body', async () => {
    const send = setUp(found, { input: 'x'.repeat(100_000) });
    await send(0, { status: 503 });
    expect(await send(1)).toBe('found');
  });
});
