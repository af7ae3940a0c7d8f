import { eventLines } from './event-lines.js';

describe('The lines of a stream', () => {
  it('are events with their numbers, and everything else as it was sent, however it is cut', () => {
    const stream = 'retry: 1000\nid: r.1\ndata: {"a":1}\n\n:\nid: r.2\ndata: {"b":2}\n\n';
    const expected = [
      { id: undefined, raw: 'retry: 1000' },
      { id: 'r.1', raw: '{"a":1}' },
      { id: undefined, raw: ':' },
      { id: 'r.2', raw: '{"b":2}' },
    ];
    for (let at = 0; at <= stream.length; at += 1) {
      const linesOf = eventLines();
      const [first, second] = [stream.slice(0, at), stream.slice(at)].map((text) => Buffer.from(text));
      expect([...linesOf(first!), ...linesOf(second!)]).toEqual(expected);
    }
  });
});
