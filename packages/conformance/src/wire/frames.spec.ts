import { readFrames } from './frames.js';

const EVENT = 'data: {"type":"message","data":{"content":"a"}}\n\n';
const MESSAGE = { type: 'message', data: { content: 'a' } };

describe('The bytes of a stream', () => {
  it.each([
    ['plain', EVENT, [undefined], 0, []],
    ['plain', `\n\n${EVENT}\n\n\n\n${EVENT}`, [undefined, undefined], 3, []],
    ['full', `retry: 1000\nid: r.1\n${EVENT}:\n:\nid: r.2\n${EVENT}retry: 5\n`, ['r.1', 'r.2'], 2, [1000, 5]],
  ] as const)('are read in the %s profile: %j', (profile, text, ids, keepAlives, retries) => {
    expect(readFrames(Buffer.from(text), profile, true)).toEqual({
      frames: ids.map((id) => ({ id, envelope: MESSAGE })),
      keepAlives,
      retries,
      rest: '',
    });
  });

  it.each([
    ['plain', `id: r.1\n${EVENT}`],
    ['plain', `:\n${EVENT}`],
    ['plain', `retry: 1000\n${EVENT}`],
    ['plain', `\n${EVENT}`],
    ['plain', EVENT.replaceAll('\n', '\r\n')],
    ['plain', EVENT.replace('data: ', 'data:')],
    ['plain', EVENT.replace(',', ',\ndata: ')],
    ['plain', EVENT.replace(/\n$/, '')],
    ['plain', `event: message\n${EVENT}`],
    ['plain', 'data: [1]\n\n'],
    ['plain', 'data: {"type":1,"data":{}}\n\n'],
    ['plain', 'data: {"type":"message"}\n\n'],
    ['plain', 'data: {"type":"message","data":}\n\n'],
    ['full', EVENT],
    ['full', `retry: 1000\n\nid: r.1\n${EVENT}`],
    ['full', `retry: 1000\nid: r.1\n${EVENT}:\n\n`],
    ['full', `retry: 1000\nid: r.1\n`],
  ] as const)('are refused in the %s profile: %j', (profile, text) => {
    expect(() => readFrames(Buffer.from(text), profile, true)).toThrow();
  });

  it('are refused where they are not UTF-8', () => {
    const bytes = Buffer.from(EVENT.replace('a"}}', '\xff"}}'), 'latin1');
    expect(() => readFrames(bytes, 'plain', true)).toThrow('UTF-8');
  });

  it.each(['plain', 'full'] as const)(
    'may end anywhere while the stream goes on, in the %s profile',
    (profile) => {
      const text =
        profile === 'plain' ? `\n\n${EVENT}${EVENT}` : `retry: 1000\nid: r.1\n${EVENT}:\nid: r.2\n${EVENT}`;
      const bytes = Buffer.from(text.replace('"a"', '"é🌍"'));
      for (let length = 0; length <= bytes.length; length++) {
        const { frames } = readFrames(bytes.subarray(0, length), profile, false);
        expect(frames.length).toBeLessThanOrEqual(2);
      }
    },
  );
});
