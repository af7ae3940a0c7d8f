import fc from 'fast-check';
import { EventLog } from './event-log.js';
import { type LogText, LogTexts } from './log-texts.js';

const contentOf = (line: string) => /^\{"text":(".*")\}$/.exec(line)?.[1];

async function jsonOf({ json }: LogText): Promise<string> {
  if (typeof json === 'string') return json;
  const pieces: string[] = [];
  for await (const piece of json) pieces.push(piece);
  return pieces.join('');
}

/** What happens to a text: a piece of so many characters, another envelope, or a restart so many envelopes before the newest. */
const STEPS = fc.array(
  fc.oneof(
    fc.nat(60_000).map((length) => ({ length })),
    fc.constant('other' as const),
    fc.nat(8).map((back) => ({ back })),
  ),
);

describe('The texts of an answer', () => {
  it('are what their valid envelopes have, however long they are and whatever is void', async () => {
    await fc.assert(
      fc.asyncProperty(STEPS, async (steps) => {
        const log = new EventLog();
        const texts = new LogTexts({ log: (after) => log.read(after) });
        const text = texts.begin(contentOf);
        let valid: { seq: number; content: string }[] = [];
        let last = 0;
        for (const step of steps) {
          const seq = log.last + 1;
          if (step === 'other') log.append('{"other":1}');
          else if ('length' in step) {
            const content = `${seq},`.padEnd(step.length, 'x');
            log.append(`{"text":"${content}"}`);
            text.add(`"${content}"`, seq);
            valid.push({ seq, content });
            last = seq;
          } else {
            const from = Math.max(0, log.last - step.back);
            log.append('{"restarted":1}');
            text.cut(from);
            valid = valid.filter((each) => each.seq <= from);
            last = valid.length > 0 ? Math.min(last, from) : 0;
          }
        }
        expect(await jsonOf(text)).toBe(valid.map(({ content }) => content).join(''));
        expect(text.isEmpty).toBe(valid.length === 0);
        // A part of the log that was cut may end with envelopes that are not of this text.
        expect(text.last).toBeLessThanOrEqual(last);
        expect(text.last).toBeGreaterThanOrEqual(valid.at(-1)?.seq ?? 0);
      }),
    );
  });

  it('hold little together, also if there are many', () => {
    const texts = new LogTexts({ log: () => ({ first: 1, count: 0, lines: '', endOffset: 0, ended: true }) });
    const many = Array.from({ length: 100 }, () => texts.begin(contentOf));
    for (const [index, text] of many.entries()) text.add(`"${'x'.repeat(50_000)}"`, index + 1);
    expect(texts.held).toBeLessThanOrEqual(256 * 1024);
    expect(many.filter(({ short }) => short !== undefined)).toHaveLength(5);
  });

  it('hold all where there is no log to read again', () => {
    const text = new LogTexts({}).begin(contentOf);
    for (let seq = 1; seq <= 10; seq++) text.add(`"${'x'.repeat(50_000)}"`, seq);
    expect(text.short).toHaveLength(500_000);
  });

  it('fail if the log is no longer kept', async () => {
    const log = new EventLog();
    const text = new LogTexts({ log: (after) => log.read(after) }).begin(contentOf);
    for (let seq = 1; seq <= 10; seq++) {
      const content = 'x'.repeat(50_000);
      log.append(`{"text":"${content}"}`);
      text.add(`"${content}"`, seq);
    }
    log.trim();
    await expect(jsonOf(text)).rejects.toMatchObject({ code: 'cursor_expired' });
  });
});
