import fc from 'fast-check';
import { casesOf } from '../../../../test/support/long-form.js';
import { linesOfArray } from './json-lines.js';

/** The lines of a JSON text, in chunks of some bytes. */
async function linesOf(json: string, size: number): Promise<string> {
  const bytes = Buffer.from(json);
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  const lines: Uint8Array[] = [];
  for await (const piece of linesOfArray(chunks())) lines.push(piece);
  return Buffer.concat(lines).toString();
}

describe('The lines of an array of JSON', () => {
  it('have the items, however it is written and cut', async () => {
    const items = fc.array(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })), { minLength: 1 });
    const indent = fc.constantFrom(undefined, 2, '\t');
    await fc.assert(
      fc.asyncProperty(items, indent, fc.integer({ min: 1, max: 50 }), async (rows, space, size) => {
        const lines = (await linesOf(JSON.stringify(rows, undefined, space), size)).split('\n');
        const read = lines.filter((line) => line.trim() !== '').map((line) => JSON.parse(line) as unknown);
        expect(read).toEqual(JSON.parse(JSON.stringify(rows)));
      }),
      { numRuns: casesOf(200) },
    );
  });

  it.each(['[{"a":1},,{"a":2}]', '[,{"a":1}]', '[{"a":1}] x', '[{"a":1} {"b":2}]', '[{"a":1}', '[{"a":"}]'])(
    'are wrong where the array %s is wrong',
    async (json) => {
      const lines = (await linesOf(json, 3)).split('\n').filter((line) => line.trim() !== '');
      const isRead = lines.every((line) => {
        try {
          return JSON.parse(line) !== undefined;
        } catch {
          return false;
        }
      });
      expect(isRead).toBe(false);
    },
  );
});
