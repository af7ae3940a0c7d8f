import fc from 'fast-check';
import type { FileSource } from '../file-source.js';
import { UnreadableFile } from '../unreadable-file.js';
import { describeJson } from './json.js';
import { casesOf } from '../../../../test/support/long-form.js';

const UTF_8 = { label: 'utf-8', name: 'UTF-8' } as const;

function source(text: string): FileSource {
  const content = Buffer.from(text);
  return {
    name: 'a.json',
    mimeType: 'application/json',
    size: content.length,
    read: async (start, end) => content.subarray(start, end),
    checkTime: () => undefined,
  };
}

async function describeText(text: string): Promise<string> {
  let description = '';
  for await (const piece of describeJson(source(text), UTF_8)) description += piece;
  return description;
}

describe('describeJson', () => {
  it('finds no fault in valid JSON', async () => {
    await fc.assert(
      fc.asyncProperty(fc.json(), async (text) => {
        expect(await describeText(text)).toMatch(/^\*\*JSON file\*\*, [^.]+\d* \w+\. Its shape:/);
      }),
    );
  });

  it('finds a fault exactly where JSON.parse does', async () => {
    const token = fc.constantFrom('[', ']', '{', '}', ',', ':', '"a"', '1', '-2.5', 'true', 'null', ' ');
    await fc.assert(
      fc.asyncProperty(fc.array(token, { minLength: 1, maxLength: 8 }), async (tokens) => {
        const text = tokens.join('');
        let valid = true;
        try {
          JSON.parse(text);
        } catch {
          valid = false;
        }
        const found = await describeText(text).catch((error: unknown) => {
          expect(error).toBeInstanceOf(UnreadableFile);
          return '';
        });
        // Several values after one another are no JSON text, but NDJSON.
        if (found.startsWith('**NDJSON file**')) return;
        expect(/bytes?\. Its shape:/.test(found)).toBe(valid);
      }),
      { numRuns: casesOf(2000) },
    );
  });

  it('joins the keys of all objects of an array, and marks those that some objects do not have', async () => {
    const description = await describeText('[{"a":1,"b":"x"},{"a":2.5},{"a":null,"b":[[],[true]]}]');
    expect(description).toBe(
      '**JSON file**, 54 bytes. Its shape:\n\n```text\narray (3 items) of object\n  a: number or null\n' +
        '  b?: string or array (2 items) of array (0 to 1 item) of boolean\n```',
    );
  });

  it('refuses JSON that is nested deeper than the limit', async () => {
    const description = await describeText('['.repeat(100_000));
    expect(description).toContain(
      'This JSON is broken: it is nested deeper than 1000 levels at line 1, byte 1,001.',
    );
  });

  it('states the length of an array as far as it goes, where the end is missing', async () => {
    const description = await describeText('{"a": [1, 2, 3');
    expect(description).toContain(
      'it ends in the middle, as if it had been cut off. What comes before is described.',
    );
    expect(description).toContain('a: array (3 items) of integer');
  });
});
