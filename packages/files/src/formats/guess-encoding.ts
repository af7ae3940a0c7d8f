import { isAscii } from 'node:buffer';
import { decoderOf, labelOf } from './code-pages.js';

/** What is looked for, by the names of the detector. ISO-8859-1 and ISO-8859-9 are parts of windows-1252 and windows-1254. */
const CANDIDATES = [
  ...['windows-1250', 'windows-1251', 'windows-1252', 'windows-1253', 'windows-1254', 'windows-1255'],
  ...['windows-1256', 'windows-1257', 'iso-8859-2', 'iso-8859-5', 'iso-8859-7', 'iso-8859-15'],
  ...['koi8-r', 'koi8-u', 'cp437', 'cp850', 'cp852', 'cp866', 'mac-roman'],
  ...['shift_jis_2004', 'euc-jis-2004', 'gb18030', 'big5hkscs', 'euc-kr'],
];
/** Candidates that are compared. */
const COMPARED = 8;
/** Bytes of lines that decide, and those of a line that are read before its first one outside of ASCII. */
const SAMPLE = 8 * 1024;
const BEFORE = 200;
const LINE_BREAK = Buffer.from('\n');
/** The detector does not know how common an encoding is: in texts, and in names that DOS or Windows has packed. */
const COMMON_IN_TEXTS: Record<string, number> = { 'windows-1252': 1.28, 'windows-1254': 1.1 };
const COMMON_IN_NAMES: Record<string, number> = { cp437: 1.3, cp850: 1.29 };
/** Bytes outside of ASCII in names that are enough for a guess. */
const ENOUGH = 3;
/** Signs that are hardly ever between two letters, or after one, and which wrong encodings have there. */
const SIGNS = '¡-¶¸-¿×÷€‚ƒ„…†‡ˆ‰‹“”•˜™›\\u2190-\\u25ff';
const ODD = new RegExp(
  `[\\x80-\\x9f\ufffd]|(?<=\\p{L})[${SIGNS}](?=\\p{L})|(?<=\\p{L})[‚„ˆ˜ƒ•¤¢¨¯´¸](?!\\p{L})` +
    `|(?<=\\p{Ll})[^\\P{Lu}A-Z](?=\\p{Ll})|(?<=[a-z])(?![ªº])[\\p{Lo}\\p{Script=Cyrillic}\\p{Script=Greek}]`,
  'gu',
);

/**
 * The encodings in which bytes may be a text, the most likely first.
 *
 * @param bytes which are neither ASCII nor UTF-8
 */
export async function likelyLabels(bytes: Uint8Array): Promise<string[]> {
  const sample = sampleOf(bytes);
  return hasSignsOnly(sample) ? ['windows-1252'] : rankedLabels(sample, COMMON_IN_TEXTS);
}

/** The same for names of a ZIP archive, of which the format says that they are cp437. */
export async function likelyLabelsOfNames(names: Uint8Array[]): Promise<string[]> {
  const sample = sampleOf(Buffer.concat(names.flatMap((name) => [name, LINE_BREAK])));
  return bytesBeyondAscii(sample) < ENOUGH ? ['cp437'] : rankedLabels(sample, COMMON_IN_NAMES);
}

async function rankedLabels(sample: Uint8Array, common: Record<string, number>): Promise<string[]> {
  const { chardet } = await import('jschardet');
  const options = { includeEncodings: CANDIDATES, ignoreThreshold: true, maxBytes: SAMPLE };
  const found = chardet.detectAll(sample, options).flatMap(({ encoding, confidence }) => {
    const label = labelOf((encoding ?? '').replace(/^mac/i, 'x-mac-'));
    return label === undefined ? [] : [{ label, confidence }];
  });
  // Few characters show little.
  const doubt = 0.5 / bytesBeyondAscii(sample);
  const compared = found.filter(({ label }, rank) => rank < COMPARED || label in common);
  return compared
    .map(({ label, confidence }) => ({
      label,
      score:
        confidence * (label in common ? common[label]! + doubt : 1) * (1 - shareOfOdd(sample, label)) ** 3,
    }))
    .sort((a, b) => b.score - a.score)
    .map(({ label }) => label);
}

/** Of a long text, the lines that are not ASCII: only these differ in encodings. */
function sampleOf(bytes: Uint8Array): Uint8Array {
  if (bytes.length <= SAMPLE) return bytes;
  const lines: Uint8Array[] = [];
  let size = 0;
  for (let start = 0; start < bytes.length && size < SAMPLE;) {
    const end = bytes.indexOf(0x0a, start) + 1 || bytes.length;
    const line = bytes.subarray(start, end);
    start = end;
    if (isAscii(line)) continue;
    const first = line.findIndex((byte) => byte > 0x7f);
    lines.push(line.subarray(Math.max(0, first - BEFORE)));
    size += lines.at(-1)!.length;
  }
  return Buffer.concat(lines).subarray(0, SAMPLE);
}

/** Whether a text of windows-1252 has no letters outside of ASCII but signs such as `°`, of which the detector knows nothing. */
function hasSignsOnly(sample: Uint8Array): boolean {
  const text = decoderOf('windows-1252').decode(sample, { stream: true });
  const runs = text.match(/[^\0-\x7f]+/g) ?? [];
  const isApart = runs.every((run) => run.length === 1);
  return isApart && (runs.length === 1 || !/[^\0-\x7f\P{L}]/u.test(text)) && text.match(ODD) === null;
}

/** The part of the bytes outside of ASCII that are odd in an encoding. */
function shareOfOdd(sample: Uint8Array, label: string): number {
  const odd = decoderOf(label).decode(sample, { stream: true }).match(ODD)?.length ?? 0;
  return Math.min(1, odd / bytesBeyondAscii(sample));
}

function bytesBeyondAscii(bytes: Uint8Array): number {
  return bytes.filter((byte) => byte > 0x7f).length;
}
