import { message } from '../../src/index.js';
import { promise } from '../promises.js';
import { request } from '../support/client.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';

const PARTS = [{ type: 'text', text: 'Hello' }];

describeOnOneAdapter('A query with members beside its parts, on %s', (adapter) => {
  let host: Host;
  let seen: object[];

  beforeEach(async () => {
    seen = [];
    host = await startAgent(adapter, async function* (query) {
      seen.push(query);
      yield message('Hi');
    });
  });
  afterEach(() => host.close());

  const streamOf = async (body: object, headers = {}) => {
    const reply = await request(host.url, { headers }, JSON.stringify({ parts: PARTS, ...body }));
    return [reply.status, await reply.whole()];
  };
  const answered = (...notices: string[]) => [
    200,
    [
      ...notices.map((text) => ({ type: 'log', data: { message: text } })),
      { type: 'message', data: { content: 'Hi' } },
    ]
      .concat([{ type: 'done', data: { status: 'completed' } } as never])
      .map((envelope) => `data: ${JSON.stringify(envelope)}\n\n`)
      .join(''),
  ];

  it.each([
    ['session_id', '{"kwargs":{"session_id":"…"}}'],
    ['session', '{"kwargs":{"session_id":"…"}}'],
    ['messages', '{"parts":[{"type":"text","text":"…"}]}'],
    ['prompt', '{"parts":[{"type":"text","text":"…"}]}'],
    ['files', '{"parts":[{"type":"file","name":"…","mimeType":"…","base64":"…"}]}'],
    ['kwarg', '{"kwargs":{…}}'],
    ['model', '{"kwargs":{…}}'],
    ['stream', 'the header "Prefer: respond-async" for an answer that does not stream'],
  ])(promise('body.misplaced', '%s'), async (name, place) => {
    const notice = `"${name}" beside "parts" is ignored. Write ${place}.`;
    expect(await streamOf({ [name]: 'x' })).toEqual(answered(notice));
    expect(seen).toEqual([{ parts: PARTS, kwargs: {} }]);
  });

  it(promise('body.misplaced', 'several, and none of others, in kwargs and in parts'), async () => {
    expect(await streamOf({ stream: true, session_id: 's' })).toEqual(
      answered(
        '"stream" beside "parts" is ignored. Write the header "Prefer: respond-async" for an answer that does not stream.',
        '"session_id" beside "parts" is ignored. Write {"kwargs":{"session_id":"…"}}.',
      ),
    );
    const others = { foo: 1, constructor: 1, toString: 1, has: 1, metadata: { session_id: 's' } };
    const kwargs = { session_id: 's', stream: true, files: [] };
    expect(await streamOf({ ...others, kwargs, parts: [{ ...PARTS[0], session_id: 's' }] })).toEqual(
      answered(),
    );
  });

  it(promise('body.misplaced', 'it is the same query for an idempotency key'), async () => {
    const headers = { 'idempotency-key': 'k' };
    const first = await streamOf({}, headers);
    expect(await streamOf({ session_id: 's' }, headers)).toEqual(first);
    expect(seen).toHaveLength(1);
  });
});
