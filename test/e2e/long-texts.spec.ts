import { createHash } from 'node:crypto';
import { message, type SessionPage } from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, get } from '../support/client.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';

const QUESTION = `Read this. ${'ä'.repeat(100_000)}`;
const ANSWER = 'An answer. '.repeat(20_000);
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');

describeOnOneAdapter('A long text of a turn on %s', (adapter) => {
  let host: Host;
  let runId: string;
  const histories: string[][] = [];
  beforeAll(async () => {
    host = await startAgent(
      adapter,
      async function* (_query, { history }) {
        histories.push(history.map(({ text }) => text));
        yield message(ANSWER);
      },
      { owner: (request: { headers: Record<string, string> }) => request.headers['x-caller'] },
    );
    const asked = await ask(host.url, QUESTION, {
      headers: { 'x-caller': 'ann' },
      kwargs: { session_id: 's' },
    });
    await asked.whole();
    runId = asked.runId;
  });
  afterAll(async () => {
    await host.idle();
    await host.close();
  });
  const fileAt = (text: string, headers: object = {}, id = runId) =>
    get(host.url, `/query/${id}/files/${digestOf(text)}`, { 'x-caller': 'ann', ...headers });

  it(promise('session.cut-texts'), async () => {
    const page = await get(host.url, '/query/sessions/s', { 'x-caller': 'ann' });
    const { turns } = await page.json<SessionPage & Record<string, unknown>>();
    expect(turns).toEqual([
      {
        runId,
        parts: [
          {
            type: 'text',
            text: QUESTION.slice(0, 11 + (64 * 1024 - 12) / 2),
            truncated: true,
            size: 11 + 200_000,
            sha256: digestOf(QUESTION),
          },
        ],
        text: ANSWER.slice(0, 64 * 1024),
        truncated: true,
        size: ANSWER.length,
        sha256: digestOf(ANSWER),
        envelopes: [message(ANSWER.slice(0, 64 * 1024))],
        end: { status: 'completed' },
        createdAt: expect.any(String),
        endedAt: expect.any(String),
      },
    ]);
  });

  it(promise('session.cut-texts', 'while handlers receive the whole'), async () => {
    const next = await ask(host.url, 'And?', { headers: { 'x-caller': 'ann' }, kwargs: { session_id: 's' } });
    await next.whole();
    expect(histories.at(-1)).toEqual([ANSWER]);
  });

  it(promise('files.text'), async () => {
    for (const text of [QUESTION, ANSWER]) {
      const whole = await fileAt(text);
      expect(whole.status).toBe(200);
      expect((await whole.whole()) === text).toBe(true);
      expect(whole.headers).toMatchObject({
        'content-type': 'text/plain; charset=utf-8',
        'content-length': `${Buffer.byteLength(text)}`,
        'content-disposition': `attachment; filename=text.txt; filename*=UTF-8''text.txt`,
        etag: `"${digestOf(text)}"`,
        'x-content-type-options': 'nosniff',
        'content-security-policy': 'sandbox',
        'accept-ranges': 'bytes',
        'cache-control': 'private, no-cache',
      });
    }
  });

  it(promise('files.range'), async () => {
    const part = await fileAt(ANSWER, { range: 'bytes=3-9' });
    expect([part.status, part.headers['content-range'], await part.whole()]).toEqual([
      206,
      `bytes 3-9/${ANSWER.length}`,
      'answer.',
    ]);
    const end = await fileAt(ANSWER, { range: 'bytes=-2', 'if-range': `"${digestOf(ANSWER)}"` });
    expect([end.status, await end.whole()]).toEqual([206, '. ']);
  });

  it(promise('files.range', 'and a range that cannot be read as one is ignored'), async () => {
    const ignored = [
      { range: 'bytes=0-1,9-10' },
      { range: 'lines=1-2' },
      { range: 'bytes=0-1', 'if-range': '"x"' },
    ];
    for (const headers of ignored) {
      const whole = await fileAt(ANSWER, headers);
      expect([headers, whole.status, (await whole.whole()).length]).toEqual([headers, 200, ANSWER.length]);
    }
  });

  it(promise('files.range', 'and bytes that do not exist are 416'), async () => {
    const refused = await fileAt(ANSWER, { range: 'bytes=999999-' });
    expect(refused.headers['content-range']).toBe(`bytes */${ANSWER.length}`);
    expect(await refused.json()).toEqual({
      type: 'about:blank',
      title: 'Range Not Satisfiable',
      status: 416,
      detail: `The header Range asks for bytes that do not exist: the file has ${ANSWER.length} bytes.`,
      code: 'range_not_satisfiable',
      size: ANSWER.length,
    });
  });

  it(
    promise('owner.isolation', 'a long text is 404 for another owner, like one that does not exist'),
    async () => {
      const refusals = await Promise.all([
        fileAt(ANSWER, { 'x-caller': 'bob' }),
        fileAt(ANSWER, {}, 'unknown'),
        fileAt('no such text'),
        get(host.url, `/query/${runId}/files/..%2f`, { 'x-caller': 'ann' }),
      ]);
      const bodies = await Promise.all(refusals.map((refusal) => refusal.whole()));
      expect(refusals.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
      expect(new Set(bodies).size).toBe(1);
      expect(JSON.parse(bodies[0]!)).toMatchObject({ code: 'not_found' });
    },
  );
});
