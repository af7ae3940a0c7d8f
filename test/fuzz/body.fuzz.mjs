/**
 * Compares the body reader with `JSON.parse` and a strict decoder, on random documents that are damaged at random offsets.
 *
 *   npm run build && node test/fuzz/body.fuzz.mjs [seconds = 60] [seed]
 *
 * Prints the seed of the first difference, and exits with 1. With this seed, only that document is read again.
 */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { isDeepStrictEqual, TextDecoder } from 'node:util';
import {
  Base64Fault,
  BodyContent,
  DEFAULT_BODY_LIMITS,
  QueryError,
  readBody,
  readParsed,
  Spool,
} from '../../dist/internals.js';
import { readPlainly } from '../support/body-oracle.mjs';
import { randomFrom } from '../support/random.mjs';

const seconds = Number(process.argv[2] ?? 60);
const onlySeed = process.argv[3];

/** Bytes that are ill-formed UTF-8, or only the beginning of a character. */
const ILL_FORMED = ['f09f98', 'c0af', 'e09fbf', 'eda080', 'f08fbfbf', 'f4908080', 'f5', '80', 'e2', 'ff'];

function document(random) {
  const { below, pick, chance } = random;
  const space = () => (chance(0.15) ? pick([' ', '\n', '\t\r', '  ']) : '');
  const escaped = (text) =>
    [...text]
      .map((c) =>
        chance(0.1)
          ? `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`
          : c === '/' && chance(0.3)
            ? '\\/'
            : c,
      )
      .join('');
  const string = () =>
    JSON.stringify(
      pick(['', 'a', 'parts', 'base64', 'é€😀', '\ud800', '\\', '"', '\n\u0001', 'x'.repeat(below(40))]),
    );
  const name = (text) => `"${chance(0.2) ? escaped(text) : text}"`;
  const scalar = () => pick(['0', '-0', '12.5e-3', '1E9', 'true', 'false', 'null', '-1', string(), string()]);
  const object = (members) =>
    `{${members.map(([n, v]) => `${space()}${n}${space()}:${space()}${v}`).join(',')}${space()}}`;
  const list = (values) => `[${space()}${values.map((v) => v + space()).join(',' + space())}]`;
  const many = (max, make) => Array.from({ length: below(max + 1) }, make);
  const value = (depth) => {
    if (depth === 0 || chance(0.5)) return scalar();
    if (chance(0.5)) return list(many(3, () => value(depth - 1)));
    return object(
      many(3, () => [pick([string(), '"__proto__"', name('base64'), name('parts')]), value(depth - 1)]),
    );
  };
  const base64 = () => {
    let text = Buffer.from(Array.from({ length: below(pick([4, 40, 400])) }, () => below(256))).toString(
      'base64',
    );
    if (chance(0.25)) {
      const index = below(text.length + 1);
      const junk = pick([
        '-',
        '_',
        '=',
        '==',
        ' ',
        '\\n',
        'é',
        '😀',
        '\\u00e9',
        '\\u0041',
        '\\ud800',
        '\\u0141',
        ':',
        '*',
        'A',
        'B',
      ]);
      return `"${text.slice(0, index)}${junk}${text.slice(chance(0.5) ? index : index + 1)}"`;
    }
    if (chance(0.05)) text = `data:text/plain;base64,${text}`;
    return `"${chance(0.3) ? escaped(text) : text}"`;
  };
  const part = () => {
    if (chance(0.1)) return value(2);
    const members = [];
    if (chance(0.9)) members.push([name('type'), chance(0.8) ? '"file"' : pick(['"text"', '1', string()])]);
    many(2, () => members.push([name('base64'), chance(0.9) ? base64() : value(1)]));
    many(2, () => members.push([name(pick(['text', 'name', 'mimeType', '__proto__'])), value(1)]));
    return object(members.sort(() => (chance(0.5) ? 1 : -1)));
  };
  const body = [];
  if (chance(0.95)) body.push([name('parts'), chance(0.95) ? list(many(4, part)) : value(3)]);
  if (chance(0.1)) body.push([name('parts'), list(many(3, part))]);
  if (chance(0.5)) body.push([name('kwargs'), value(3)]);
  const text = chance(0.03) ? value(4) : object(body.sort(() => (chance(0.5) ? 1 : -1)));
  return Buffer.from(`${chance(0.05) ? '\ufeff' : ''}${space()}${text}${space()}`);
}

function damaged(bytes, random) {
  const { below, pick } = random;
  const offset = below(bytes.length + 1);
  const before = bytes.subarray(0, offset);
  switch (below(6)) {
    case 0:
      return before;
    case 1:
      return Buffer.concat([before, bytes.subarray(offset + 1 + below(8))]);
    case 2:
      return Buffer.concat([before, Buffer.from([below(256)]), bytes.subarray(offset + 1)]);
    case 3:
      return Buffer.concat([
        before,
        Buffer.from(pick([',', '"', '\\', '{', ']', '0', '\ufeff', '\\u', ':', '\n'])),
        bytes.subarray(offset),
      ]);
    case 4:
      return Buffer.concat([before, bytes.subarray(below(bytes.length), offset), bytes.subarray(offset)]);
    default:
      return Buffer.concat([before, Buffer.from(pick(ILL_FORMED), 'hex'), bytes.subarray(offset)]);
  }
}

function cut(bytes, random) {
  const longest = random.pick([1, 3, 17, 200, 1e6]);
  const chunks = [];
  for (let offset = 0; offset < bytes.length;) {
    const size = 1 + random.below(longest);
    chunks.push(Buffer.from(bytes.subarray(offset, offset + size)));
    offset += size;
  }
  return chunks;
}

/** Replaces contents and faults by what `readPlainly` returns for them, after checking size and digest. */
async function withPlainContents(document) {
  const parts = document.value?.parts;
  let contents = 0;
  for (const part of Array.isArray(parts) ? parts : []) {
    const base64 = part?.base64;
    if (base64 instanceof Base64Fault) part.base64 = { fault: base64.offset };
    if (!(base64 instanceof BodyContent)) continue;
    contents++;
    const bytes = Buffer.from(await (await base64.file('a', 'a/b')).arrayBuffer());
    if (bytes.length !== base64.size)
      throw new Error(`The size is ${base64.size}, but the content has ${bytes.length} bytes.`);
    if (createHash('sha256').update(bytes).digest('hex') !== base64.sha256)
      throw new Error('The digest is wrong.');
    part.base64 = { content: bytes.toString('hex') };
  }
  if (contents !== document.contents.length)
    throw new Error(`The document lists ${document.contents.length} contents, but has ${contents}.`);
  return document.value;
}

async function outcome(read) {
  try {
    const document = await read();
    const value = await withPlainContents(document);
    await document.discard();
    return { value };
  } catch (error) {
    if (error instanceof QueryError && error.code === 'invalid_json') return { error: true };
    throw error;
  }
}

const spool = await Spool.open();
const counts = { documents: 0, accepted: 0, refused: 0, contents: 0, faults: 0 };
const end = Date.now() + seconds * 1000;
for (let seed = Number(onlySeed ?? Date.now() % 2 ** 31); Date.now() < end; seed++) {
  const random = randomFrom(seed);
  let bytes = document(random);
  while (random.chance(0.4)) bytes = damaged(bytes, random);
  const limits = { ...DEFAULT_BODY_LIMITS, memoryBytes: random.pick([0, 10, 65536]) };
  const expected = readPlainly(bytes);
  let actual;
  let parsed;
  try {
    actual = await outcome(() =>
      readBody(Object.assign(Readable.from(cut(bytes, random)), { headers: {} }), limits, spool),
    );
    if (!expected.error) {
      const value = JSON.parse(new TextDecoder().decode(bytes));
      if (typeof value !== 'string') parsed = await outcome(() => readParsed(value, limits, spool));
    }
  } catch (error) {
    actual = error;
  }
  // A parsed body is read as its JSON text, which has no -0.
  if (
    !isDeepStrictEqual(actual, expected) ||
    (parsed && JSON.stringify(parsed) !== JSON.stringify(expected))
  ) {
    console.error(
      `Seed ${seed} has a different outcome:`,
      bytes.toString(),
      '\nexpected',
      JSON.stringify(expected),
      '\nread',
      actual,
      JSON.stringify(actual),
      '\nparsed',
      JSON.stringify(parsed),
    );
    process.exitCode = 1;
    break;
  }
  counts.documents++;
  if (expected.error) counts.refused++;
  else counts.accepted++;
  const text = JSON.stringify(expected);
  counts.contents += text.split('{"content":').length - 1;
  counts.faults += text.split('{"fault":').length - 1;
  if (onlySeed) break;
}
const left = await readdir(spool.directory).catch(() => []);
if (left.length > 0) {
  console.error(`${left.length} temporary files are left in the spool.`);
  process.exitCode = 1;
}
await spool.close();
console.log(counts);
