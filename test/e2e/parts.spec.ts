import fc from 'fast-check';
import { log, type Query, type QueryModuleOptions } from '../../src/index.js';
import { promise } from '../promises.js';
import { anyCharacter } from '../support/any-character.js';
import { casesOf } from '../support/long-form.js';
import { request } from '../support/client.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Emits what it received of each part. */
async function* describeParts({ parts }: Query) {
  for (const part of parts) {
    if (part.type === 'text') yield { type: 'part', data: part };
    else {
      const { type, name, mimeType, detectedMimeType, file } = part;
      const base64 = Buffer.from(await file.arrayBuffer()).toString('base64');
      yield { type: 'part', data: { type, name, mimeType, base64, detectedMimeType } };
    }
  }
}

describeOnOneAdapter('The parts of a query on %s', (adapter) => {
  let host: Host;
  const start = async (options: Partial<QueryModuleOptions> = {}) =>
    (host = await startAgent(adapter, describeParts, options));
  afterEach(() => host.close());
  const send = (parts: object[]) => request(host.url, {}, JSON.stringify({ parts }));
  const file = { type: 'file', name: 'a.pdf', mimeType: 'application/pdf', base64: PNG };

  it(promise('request.parts'), async () => {
    await start();
    const text = fc.record({ type: fc.constant('text'), text: fc.string({ unit: anyCharacter }) });
    const anyFile = fc.record({
      type: fc.constant('file'),
      name: fc.constantFrom('a.txt', 'ü b.bin', '.', 'x'.repeat(255)),
      mimeType: fc.constantFrom('application/octet-stream', 'text/plain; charset=utf-8'),
      base64: fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes).toString('base64')),
    });
    const large = fc.integer({ min: 60_000, max: 70_000 }).map((length) => ({
      type: 'file',
      name: 'large.bin',
      mimeType: 'application/octet-stream',
      base64: Buffer.alloc(length, 'large').toString('base64'),
    }));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(text, anyFile, large), { minLength: 1, maxLength: 10 }),
        async (parts) => {
          const envelopes = await (await send(parts)).allEnvelopes();
          const received = envelopes.filter(({ type }) => type === 'part').map(({ data }) => data);
          expect(received).toMatchObject(parts);
          expect(received).toHaveLength(parts.length);
        },
      ),
      { numRuns: casesOf(50) },
    );
  });

  it(promise('file.mismatch'), async () => {
    await start();
    expect(await (await send([file])).allEnvelopes()).toEqual([
      log('"a.pdf" is declared as application/pdf, but its bytes are image/png.'),
      { type: 'part', data: { ...file, detectedMimeType: 'image/png' } },
      { type: 'done', data: { status: 'completed' } },
    ]);
  });

  it(promise('file.mismatch', 'no log where the type says nothing about the bytes'), async () => {
    await start();
    const unknown = { ...file, mimeType: 'application/octet-stream' };
    const envelopes = await (await send([unknown])).allEnvelopes();
    expect(envelopes.map(({ type }) => type)).toEqual(['part', 'done']);
  });

  it(promise('file.mismatch', 'no log for a text in UTF-16 with a byte order mark'), async () => {
    await start();
    const base64 = Buffer.from('\ufeffstädte', 'utf16le').toString('base64');
    const envelopes = await (await send([{ ...file, mimeType: 'text/csv', base64 }])).allEnvelopes();
    expect(envelopes.map(({ type }) => type)).toEqual(['part', 'done']);
  });

  it(promise('file.mismatch-rejected'), async () => {
    await start({ rejectMismatchedTypes: true });
    const reply = await send([{ type: 'text', text: 'Hello' }, file]);
    expect(await reply.json()).toMatchObject({
      status: 400,
      code: 'invalid_query',
      errors: [{ pointer: '/parts/1/mimeType' }],
    });
  });
});
