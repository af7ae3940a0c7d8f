import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { casesOf } from '../../../test/support/long-form.js';
import { faultIn } from '../../../test/support/body-oracle.mjs';
import { Base64Decoder, type Base64Fault } from './base64-decoder.js';
import type { BodyContent } from '../files/content.js';
import { BodyContents } from '../files/body-contents.js';
import { DEFAULT_BODY_LIMITS } from '../options/table.js';
import { Spool } from '../files/spool.js';

describe('The base64 decoder', () => {
  let parent: string;
  let spool: Spool;

  beforeAll(async () => {
    parent = await mkdtemp(join(tmpdir(), 'decoder-'));
    spool = await Spool.open(parent);
  });

  afterAll(async () => {
    // Contents of this size stay in memory.
    expect(await readdir(parent)).toEqual([]);
    await spool.close();
    await rm(parent, { recursive: true });
  });

  /** Decodes the bytes of a string in pieces, as the scanner does. */
  function decode(pieces: Buffer[]): BodyContent | Base64Fault {
    const decoder = new Base64Decoder(new BodyContents(DEFAULT_BODY_LIMITS, spool).begin());
    for (const piece of pieces) {
      const end = decoder.decode(piece, 0, piece.length);
      if (decoder.fault) break;
      expect(end).toBe(piece.length);
    }
    return decoder.end();
  }

  function cut(bytes: Buffer, sizes: number[]): Buffer[] {
    const pieces: Buffer[] = [];
    let offset = 0;
    for (const size of sizes) {
      pieces.push(bytes.subarray(offset, offset + size));
      offset += size;
    }
    return [...pieces, bytes.subarray(offset)];
  }

  it.each([
    ['', 0, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    ['QQ==', 1, '559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd'],
    ['QUI=', 2, '38164fbd17603d73f696b8b4d72664d735bb6a7c88577687fd2ae33fd6964153'],
    ['QUJD', 3, 'b5d4045c3f466fa91fe2cc6abe79232a1a57cdf104f7a26e716e0a1e2789df78'],
  ])('decodes %j to %i bytes with their digest', (text, size, sha256) => {
    expect(decode([Buffer.from(text)])).toMatchObject({ size, sha256 });
  });

  it.each([
    ['data:text/plain;base64,QUJD', 4, 'is a data: URL; send only what follows its comma'],
    ['QUJD-_', 4, 'has the URL-safe character "-"; use the standard alphabet ("+" and "/")'],
    ['QUJD_-', 4, 'has the URL-safe character "_"; use the standard alphabet ("+" and "/")'],
    ['QUJD\r\nQUJD', 4, 'has a line break; send it as one line'],
    ['QUJD QUJD', 4, 'has white space; send it without white space'],
    ['QUJ*', 3, 'has a character "*" that is not of the base64 alphabet'],
    ['QUJ\u0141', 3, 'has a character that is not of the base64 alphabet'],
    ['QUJDQQ', 6, 'ends inside a group of 4 characters: it was cut off, or its padding ("=") is missing'],
    ['QUJDQQ=', 7, 'ends inside a group of 4 characters: it was cut off, or its padding ("=") is missing'],
    ['QUJDQ', 5, 'ends inside a group of 4 characters: it was cut off, or its padding ("=") is missing'],
    ['QUJD=', 4, 'has padding ("=") where a character of the content is expected'],
    ['Q===', 1, 'has padding ("=") where a character of the content is expected'],
    ['QQ==QUJD', 4, 'continues after its padding ("=")'],
    ['QQ=Q', 3, 'continues after its padding ("=")'],
    ['QQ===', 4, 'continues after its padding ("=")'],
    ['QR==', 1, 'has bits after its last byte that are not zero: it was cut off or altered'],
    ['QUJ=', 2, 'has bits after its last byte that are not zero: it was cut off or altered'],
  ])('finds the fault of %j at character %i: it %s', (text, offset, reason) => {
    expect(decode([Buffer.from(text)])).toEqual({ offset, reason });
    const long = 'QUJD'.repeat(100);
    if (!text.startsWith('data:')) {
      expect(decode([Buffer.from(long + text)])).toEqual({ offset: offset + 400, reason });
    }
  });

  it('decodes any content to the same bytes, wherever its text is cut', () => {
    const contents = fc.uint8Array({ maxLength: 2000 });
    const cuts = fc.array(fc.nat(300), { maxLength: 20 });
    fc.assert(
      fc.property(contents, cuts, (bytes, sizes) => {
        const text = Buffer.from(Buffer.from(bytes).toString('base64'));
        const sha256 = createHash('sha256').update(bytes).digest('hex');
        expect(decode(cut(text, sizes))).toMatchObject({ size: bytes.length, sha256 });
      }),
    );
  });

  it('finds the first fault of any text at the same offset, wherever the text is cut', () => {
    const piece = fc.constantFrom(
      'Q',
      'R',
      '=',
      '-',
      '_',
      ' ',
      '*',
      '\u00e9',
      '\u0141',
      'QUJD',
      'QUJD'.repeat(20),
    );
    const cuts = fc.array(fc.nat(90), { maxLength: 20 });
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), cuts, (pieces, sizes) => {
        const text = pieces.join('');
        const outcome = decode(cut(Buffer.from(text), sizes));
        expect('offset' in outcome ? outcome.offset : undefined).toBe(faultIn(text));
      }),
      { numRuns: casesOf(1000) },
    );
  });
});
