/** A kind of file that is not read here. */
export interface NamedKind {
  title: string;
  /** What to send instead. */
  hint: string;
}

export const NOT_READ = 'This kind of file is not read here.';
/** What to send in place of a kind of which no more is known. */
export const SEND_OTHER = 'Send what is needed of it as text, CSV, PDF or PNG.';

/** A kind, the place of its first bytes, and these, each character a byte. */
type Signature = [title: string, hint: string, at: number, bytes: string];

const AS_TABLE = 'Save it as CSV or Parquet.';
const AS_DATA = 'Send what is needed of it as CSV, JSON or text.';

const AS_IMAGE = 'Save it as PNG or JPEG.';
const WITH_DATABASE = 'Send the database that it belongs to, after `pragma wal_checkpoint(truncate)`.';

const SIGNATURES: Signature[] = [
  ['Arrow file (Feather)', AS_TABLE, 0, 'ARROW1'],
  ['Feather file of version 1', AS_TABLE, 0, 'FEA1'],
  ['SPSS data', AS_TABLE, 0, '$FL2'],
  ['SPSS data', AS_TABLE, 0, '$FL3'],
  ['Stata data', AS_TABLE, 0, '<stata_dta>'],
  ['SAS data', AS_TABLE, 12, '\xc2\xea\x81\x60\xb3\x14\x11\xcf'],
  ['ORC file', AS_TABLE, 0, 'ORC'],
  ['Avro file', AS_TABLE, 0, 'Obj\x01'],
  ['Shapefile, of which only the shapes are here', 'Save it as GeoJSON.', 0, '\0\0\x27\x0a\0\0\0\0'],
  ['R data', AS_TABLE, 0, 'RDX2\n'],
  ['R data', AS_TABLE, 0, 'RDX3\n'],
  ['R data', AS_TABLE, 0, 'X\n\0\0\0\x02'],
  ['R data', AS_TABLE, 0, 'X\n\0\0\0\x03'],
  ['MATLAB data', AS_DATA, 0, 'MATLAB 5.0 MAT-file'],
  ['HDF5 or NetCDF-4 data', AS_DATA, 0, '\x89HDF\r\n\x1a\n'],
  ['NetCDF data', AS_DATA, 0, 'CDF\x01'],
  ['NetCDF data', AS_DATA, 0, 'CDF\x02'],
  ['NetCDF data', AS_DATA, 0, 'CDF\x05'],
  ['FITS data', AS_DATA, 0, 'SIMPLE  ='],
  ['NumPy array', AS_DATA, 0, '\x93NUMPY'],
  ['Sun sound (AU)', 'Save it as WAV.', 0, '.snd\0\0\0'],
  ['DICOM image', 'Save it as PNG or JPEG.', 128, 'DICM'],
  ['DjVu document', 'Save it as PDF.', 0, 'AT&TFORM'],
  ['Access database', 'Save its tables as CSV.', 4, 'Standard Jet DB'],
  ['Access database', 'Save its tables as CSV.', 4, 'Standard ACE DB'],
  ['E-book (MOBI)', 'Save it as EPUB.', 60, 'BOOKMOBI'],
  ['AutoCAD drawing (DWG)', 'Save it as PDF.', 0, 'AC10'],
  ['GIMP image (XCF)', AS_IMAGE, 0, 'gimp xcf'],
  ['Windows picture (WMF)', AS_IMAGE, 0, '\xd7\xcd\xc6\x9a'],
  ['Windows picture (EMF)', AS_IMAGE, 40, ' EMF'],
  ['WordPerfect document', 'Save it as DOCX.', 0, '\xffWPC'],
  ['OneNote section', 'Save it as PDF or DOCX.', 0, '\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d'],
  ['DuckDB database', AS_TABLE, 8, 'DUCK'],
  ['Log of a SQLite database (WAL)', WITH_DATABASE, 0, '\x37\x7f\x06\x82'],
  ['Log of a SQLite database (WAL)', WITH_DATABASE, 0, '\x37\x7f\x06\x83'],
  ['Outlook mailbox (PST)', 'Save the messages as EML.', 0, '!BDN'],
];

/** What the compound files (MS-CFB) of programs are, by the name of a stream. */
export const COMPOUND_KINDS: [stream: string, kind: NamedKind][] = [
  ['Workbook', { title: 'Excel workbook of 97 to 2003 (XLS)', hint: 'Save it as XLSX.' }],
  ['WordDocument', { title: 'Word document of 97 to 2003 (DOC)', hint: 'Save it as DOCX.' }],
  ['PowerPoint Document', { title: 'PowerPoint presentation of 97 to 2003 (PPT)', hint: 'Save it as PPTX.' }],
  ['__properties_version1.0', { title: 'Outlook message (MSG)', hint: 'Save it as EML.' }],
  ['VisioDocument', { title: 'Visio drawing (VSD)', hint: 'Save it as PDF.' }],
];

/** The kind that the first bytes of a file name, of those that are not read here; undefined for others. */
export function kindByBytes(head: Uint8Array): NamedKind | undefined {
  const text = Buffer.from(head.subarray(0, 160)).toString('latin1');
  const found = SIGNATURES.find(([, , at, bytes]) => text.startsWith(bytes, at));
  if (found) return { title: found[0], hint: found[1] };
  if (isArrowStream(text)) return { title: 'Arrow stream', hint: AS_TABLE };
  if (isOldStata(head)) return { title: 'Stata data', hint: AS_TABLE };
  return isDbase(head) ? { title: 'dBASE table (DBF)', hint: AS_TABLE } : undefined;
}

/** A message of Arrow (IPC): a mark, its length, and the place of its first table. */
function isArrowStream(text: string): boolean {
  return text.startsWith('\xff\xff\xff\xff') && text.startsWith('\x10\0\0\0', 8);
}

/** The versions 8 to 12: the version, the order of bytes, 1 and 0. */
function isOldStata([version = 0, order, one, zero]: Uint8Array): boolean {
  return version >= 113 && version <= 115 && (order === 1 || order === 2) && one === 1 && zero === 0;
}

/** The version, the day of the last change, and the end of the header where its length says that it is. */
function isDbase(head: Uint8Array): boolean {
  const [version = 0, , month = 0, day = 0] = head;
  if (![0x03, 0x30, 0x31, 0x83, 0x8b, 0xf5].includes(version) || head.length < 32) return false;
  if (month < 1 || month > 12 || day < 1 || day > 31) return false;
  const length = head[8]! + head[9]! * 256;
  return version >= 0x30 && version <= 0x31
    ? length % 32 === 8 || length % 32 === 9
    : head[length - 1] === 0x0d;
}
