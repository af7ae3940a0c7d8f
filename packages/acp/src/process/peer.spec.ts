import { PassThrough, Writable } from 'node:stream';
import { eventually } from '../../../../test/support/conditions.js';
import { Peer } from './peer.js';

describe('The peer of an agent', () => {
  let input: PassThrough;
  let sent: string;
  let seen: unknown[][];

  function peerOf({
    lineLength = 1_000,
    output = new Writable({ write: (text, _, done) => done(void (sent += String(text))) }),
  } = {}): Peer {
    input = new PassThrough();
    sent = '';
    seen = [];
    const handlers = {
      notification: (...args: unknown[]) => void seen.push(['told', ...args]),
      request: (...args: unknown[]) => void seen.push(['asked', ...args]),
      noise: (line: string) => void seen.push(['noise', line]),
    };
    return new Peer({ input, output }, handlers, { lineLength });
  }

  const line = (message: object) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;

  it('delivers an answer after all that was written before it', async () => {
    const peer = peerOf();
    const answer = peer.request('session/prompt', { a: 1 }).then((result) => seen.push(['answer', result]));
    input.write(
      line({ method: 'session/update', params: 1 }) +
        line({ method: 'session/update', params: 2 }) +
        line({ id: 0, result: { stopReason: 'end_turn' } }),
    );
    await answer;
    expect(sent).toBe('{"jsonrpc":"2.0","id":0,"method":"session/prompt","params":{"a":1}}\n');
    expect(seen).toEqual([
      ['told', 'session/update', 1],
      ['told', 'session/update', 2],
      ['answer', { stopReason: 'end_turn' }],
    ]);
  });

  it('says that a request is answered before it handles what was written after the answer', async () => {
    const peer = peerOf();
    const answer = peer.request('session/prompt', {}, undefined, () => seen.push(['answered']));
    input.write(line({ id: 0, result: {} }) + line({ method: 'session/update', params: 'late' }));
    await answer;
    expect(seen).toEqual([['answered'], ['told', 'session/update', 'late']]);
  });

  it('reads lines that arrive byte by byte, and bytes that are not UTF-8', async () => {
    const peer = peerOf();
    const bytes = Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","method":"m","params":"ä🙂'),
      Buffer.from([0xff]),
      Buffer.from('"}\r\n'),
    ]);
    for (const byte of bytes) input.write(Buffer.from([byte]));
    input.end();
    await peer.closed;
    expect(seen).toEqual([['told', 'm', 'ä🙂\ufffd']]);
  });

  it.each([
    'Listening on port 1',
    '[{"jsonrpc":"2.0","method":"a"}]',
    '{"method":"without version"}',
    '{"jsonrpc":"2.0","id":{},"method":"m"}',
    '{"jsonrpc":"2.0","method":7}',
    '{"jsonrpc":"2.0"}',
    'null',
    '7',
  ])('takes %s as noise, answers nothing, and reads on', async (noise) => {
    const peer = peerOf();
    input.end(`${noise}\n\n${line({ id: 'x', method: 'after' })}`);
    await peer.closed;
    expect([seen, sent]).toEqual([
      [
        ['noise', noise],
        ['asked', 'x', 'after', undefined],
      ],
      '',
    ]);
  });

  it.each([
    [
      { code: -32002, message: 'gone', data: 1 },
      { code: -32002, message: 'gone', data: 1 },
    ],
    ['broken', { code: -32603, message: '"broken"', data: undefined }],
    [{ code: '401' }, { code: -32603, message: '{"code":"401"}', data: undefined }],
  ])('rejects a request whose answer is the error %j', async (error, expected) => {
    const peer = peerOf();
    const answer = peer.request('m', {});
    input.write(line({ id: 99, result: 'of nobody' }) + line({ id: 0, error }));
    await expect(answer).rejects.toMatchObject({ name: 'RpcError', method: 'm', ...expected });
  });

  it('gives an answer up without a listener left, and ignores it when it arrives', async () => {
    const peer = peerOf();
    const controller = new AbortController();
    const answer = peer.request('slow', {}, controller.signal);
    controller.abort(new Error('enough'));
    await expect(answer).rejects.toThrow('enough');
    const next = peer.request('m', {}, controller.signal);
    await expect(next).rejects.toThrow('enough');
    input.write(line({ id: 0, result: 1 }) + line({ method: 'after' }));
    await eventually(() => seen.length === 1);
  });

  it('closes at a line that is too long, and hands over nothing more', async () => {
    const peer = peerOf({ lineLength: 100 });
    const answer = peer.request('m', {});
    // Characters count, not bytes.
    input.write(line({ method: 'before', params: '€'.repeat(40) }));
    input.write('x'.repeat(101));
    await expect(answer).rejects.toThrow(
      new RangeError('The agent wrote a line of more than 100 characters.'),
    );
    input.write(`\n${line({ method: 'after' })}`);
    await expect(peer.request('m', {})).rejects.toThrow(RangeError);
    expect(seen).toEqual([['told', 'before', '€'.repeat(40)]]);
  });

  it('closes when the other side does not read', async () => {
    const peer = peerOf({ output: new Writable({ write: () => undefined }) });
    const answer = peer.request('m', {});
    for (let count = 0; count < 100; count++) peer.refuse(count, -32601, 'unknown');
    await expect(answer).rejects.toThrow('The agent does not read what it is sent.');
  });

  it('fails what waits when the output ends, and what is asked later', async () => {
    const peer = peerOf();
    const answer = peer.request('m', {});
    input.end();
    await expect(answer).rejects.toThrow('The agent has closed its output.');
    await expect(peer.request('m', {})).rejects.toThrow('The agent has closed its output.');
    peer.reply(1, null);
    expect(sent).toBe('{"jsonrpc":"2.0","id":0,"method":"m","params":{}}\n');
  });

  it('reads nothing while it is paused', async () => {
    const peer = peerOf();
    peer.pause();
    input.write(line({ method: 'a' }));
    await new Promise(setImmediate);
    expect(seen).toEqual([]);
    peer.resume();
    await eventually(() => seen.length === 1);
  });
});
