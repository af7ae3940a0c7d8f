/** A field of each record. */
export interface DbaseField {
  name: Buffer;
  type: string;
  /** Of its first byte in a record, whose first byte says whether it is deleted. */
  start: number;
  length: number;
  /** Its bits in the last field of FoxPro, which says what is null, and which lengths are not full. */
  nullBit: number | undefined;
  lengthBit: number | undefined;
}

export interface DbaseHeader {
  isFoxPro: boolean;
  records: number;
  /** Of the first record. */
  start: number;
  recordLength: number;
  /** The id of the encoding; 0 if the file does not say it. */
  language: number;
  fields: DbaseField[];
  /** Where the bits of a record are; undefined if there are none. */
  bits: DbaseField | undefined;
}

const VERSIONS = [0x03, 0x30, 0x31, 0x32, 0x43, 0x63, 0x7b, 0x83, 0x8b, 0xcb, 0xf5, 0xfb];
const FOX_PRO = [0x30, 0x31, 0x32];
const TYPES = 'CNFDLMBGPYTI@OVQW0';
/** Bytes of the types that are not written as text. */
const SHORTEST: Record<string, number> = { I: 4, '+': 4, B: 8, O: 8, T: 8, Y: 8, '@': 8 };
const DESCRIPTOR = 32;
const END = 0x0d;
/** Flags of a field in FoxPro. */
const NULLABLE = 0x02;

/** The header of a table of dBASE III to 5 or FoxPro; undefined if the file is none. */
export function dbaseHeader(bytes: Uint8Array): DbaseHeader | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (head.length < 2 * DESCRIPTOR || !VERSIONS.includes(head[0]!)) return undefined;
  const start = head.readUInt16LE(8);
  const recordLength = head.readUInt16LE(10);
  const isFoxPro = FOX_PRO.includes(head[0]!);
  const descriptors: Buffer[] = [];
  for (let at = DESCRIPTOR; at + DESCRIPTOR <= start && head[at] !== END; at += DESCRIPTOR) {
    descriptors.push(head.subarray(at, at + DESCRIPTOR));
  }
  if (descriptors.length === 0 || !descriptors.every(isKnown)) return undefined;
  // Texts of Clipper may have 256 bytes or more: the number of decimals is the high byte of their length.
  const fields = [false, true]
    .map((isClipper) => fieldsOf(descriptors, isFoxPro, isClipper))
    .find((each) => each.at(-1)!.start + each.at(-1)!.length === recordLength);
  if (!fields) return undefined;
  return {
    isFoxPro,
    records: head.readUInt32LE(4),
    start,
    recordLength,
    language: head[29]!,
    fields: fields.filter(({ type }) => type !== '0'),
    bits: fields.find(({ type }) => type === '0'),
  };
}

function fieldsOf(descriptors: Buffer[], isFoxPro: boolean, isClipper: boolean): DbaseField[] {
  let start = 1;
  let bit = 0;
  return descriptors.map((descriptor) => {
    const type = typeOf(descriptor);
    const length = descriptor[16]! + (isClipper && type === 'C' ? descriptor[17]! * 256 : 0);
    const lengthBit = isFoxPro && 'VQ'.includes(type) ? bit++ : undefined;
    const nullBit = isFoxPro && type !== '0' && descriptor[18]! & NULLABLE ? bit++ : undefined;
    const name = descriptor.subarray(0, 11);
    const end = name.indexOf(0);
    const field = { name: end < 0 ? name : name.subarray(0, end), type, start, length, nullBit, lengthBit };
    start += length;
    return field;
  });
}

function isKnown(descriptor: Buffer): boolean {
  if (descriptor.length < DESCRIPTOR) return false;
  const type = typeOf(descriptor);
  return TYPES.includes(type) && descriptor[16]! >= (SHORTEST[type] ?? 0);
}

function typeOf(descriptor: Buffer): string {
  return String.fromCharCode(descriptor[11] ?? 0);
}
