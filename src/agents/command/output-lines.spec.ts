import { Buffer } from 'node:buffer';
import type { Envelope } from '../../query/index.js';
import { OutputLines } from './output-lines.js';

const LIMIT = 1024 * 1024;

/** The envelopes of an output that arrives in these chunks. */
function envelopesOf(...chunks: (string | Uint8Array)[]): Envelope[] {
  const lines = new OutputLines(LIMIT);
  const envelopes = chunks.flatMap((chunk) => lines.add(Buffer.from(chunk as string)));
  return [...envelopes, ...lines.end()];
}

/** The text of a list of messages. */
function textOf(envelopes: Envelope[]): string {
  return envelopes.map(({ data }) => (data as { content: string }).content).join('');
}

const message = (content: string) => ({ type: 'message', data: { content } });

describe('The lines of an output', () => {
  it('are envelopes if they are JSON objects with a type', () => {
    expect(
      envelopesOf('{"type":"log","data":{"message":"a"}}\n {"data":[1],"type":"x","more":2} \r\n'),
    ).toEqual([
      { type: 'log', data: { message: 'a' } },
      { type: 'x', data: [1] },
    ]);
  });

  it.each([
    ['text', 'plain'],
    ['JSON without a type', '{"data":1}'],
    ['a type that is not a string', '{"type":1,"data":1}'],
    ['JSON that is no object', '["type"]'],
    ['an object that is not closed', '{"type":"log"'],
    ['nothing', ''],
  ])('are messages if they are %s', (_, line) => {
    expect(envelopesOf(`${line}\n`)).toEqual([message(`${line}\n`)]);
  });

  it('may lack the end of the last line', () => {
    expect(envelopesOf('a\nb')).toEqual([message('a\n'), message('b')]);
    expect(envelopesOf('{"type":"x","data":1}')).toEqual([{ type: 'x', data: 1 }]);
    expect(envelopesOf('')).toEqual([]);
  });

  it('may end as on Windows', () => {
    expect(envelopesOf('a\r\n', 'b\r', '\nc\rd\n')).toEqual([
      message('a\n'),
      message('b\n'),
      message('c\rd\n'),
    ]);
  });

  it('are the same wherever the chunks are cut', () => {
    const bytes = Buffer.from('grün\n{"type":"x","data":"🙂"}\nend');
    const whole = envelopesOf(bytes);
    expect(whole).toHaveLength(3);
    for (let cut = 1; cut < bytes.length; cut++)
      expect(envelopesOf(bytes.subarray(0, cut), bytes.subarray(cut))).toEqual(whole);
  });

  it('have U+FFFD in place of bytes that are not UTF-8', () => {
    expect(envelopesOf(Buffer.from([0x61, 0xff, 0x0a, 0xc3]))).toEqual([
      message('a\ufffd\n'),
      message('\ufffd'),
    ]);
  });

  it('are passed on in pieces if they are long texts', () => {
    const chunk = 'x'.repeat(50_000);
    const chunks = Array.from({ length: 100 }, () => chunk);
    const envelopes = envelopesOf(...chunks, '{"type":"log","data":{}}\nend\n');
    expect(textOf(envelopes)).toBe(`${chunks.join('')}{"type":"log","data":{}}\nend\n`);
    const lengths = envelopes.map(({ data }) => (data as { content: string }).content.length);
    expect(Math.max(...lengths)).toBeLessThan(200_000);
    expect(envelopes.at(-1)).toEqual(message('end\n'));
  });

  it('are whole envelopes up to the limit', () => {
    const line = JSON.stringify({ type: 'x', data: 'y'.repeat(LIMIT - 100) });
    expect(envelopesOf(line.slice(0, 500_000), line.slice(500_000), '\n')).toEqual([JSON.parse(line)]);
  });

  it('fail beyond the limit, if they begin as an envelope does', () => {
    const lines = new OutputLines(LIMIT);
    lines.add(Buffer.from(`{"type":"x","data":"${'y'.repeat(LIMIT - 100)}`));
    expect(() => lines.add(Buffer.from('y'.repeat(200)))).toThrow(
      expect.objectContaining({ code: 'invalid_envelope' }),
    );
  });
});
