import { bytesOf, headOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import { decoderOf } from '../formats/code-pages.js';
import {
  certainEncoding,
  exactEncoding,
  guessNote,
  guessedEncoding,
  typeInside,
} from '../formats/encoding.js';
import { gunzipped, headOfGzip } from '../formats/gzip.js';
import { utf8Of } from '../formats/json.js';
import { preferredDelimiter, textKindOf } from '../formats/text-kind.js';
import { ZipArchive } from '../formats/zip-archive.js';
import { databaseTables } from './database-tables.js';
import { delimitedSource } from './delimited-text.js';
import { jsonTables } from './json-tables.js';
import { isOffered, moreTables } from './more-tables.js';
import { layerTables } from './shape-layers.js';
import type { TableSource } from './table-source.js';
import { workbookTables } from './workbook-tables.js';
import type { Workspace } from './workspace.js';

/** The tables of a file; none if it is of another kind. */
export async function tablesOf(
  file: FileSource,
  limits: FilesLimits,
  workspace: Workspace,
): Promise<TableSource[]> {
  const head = Buffer.from(await headOf(file));
  const signature = head.toString('latin1', 0, 16);
  if (signature.startsWith('PAR1')) return [parquetSource(file)];
  if (signature.startsWith('SQLite format 3\0')) return databaseTables(file, workspace);
  const more = isOffered(file, head) ? await moreTables(file) : [];
  if (more.length > 0) return more;
  if (signature.startsWith('PK\x03\x04')) {
    const zip = await ZipArchive.open(file, limits);
    const sheets = await workbookTables(zip);
    return sheets.length > 0 ? sheets : layerTables(zip, file);
  }
  if (signature.startsWith('\x1f\x8b')) {
    const inner = { name: file.name.replace(/\.gz$/i, ''), mimeType: typeInside(file.mimeType) };
    return textTables(inner, await headOfGzip(file, limits), false, () => gunzipped(file, limits));
  }
  const tables = await textTables(file, head, head.length === file.size, () => bytesOf(file));
  return tables.length > 0 ? tables : moreTables(file);
}

async function textTables(
  label: { name: string; mimeType: string },
  head: Uint8Array,
  isWhole: boolean,
  chunks: () => AsyncIterable<Uint8Array>,
): Promise<TableSource[]> {
  const encoding = certainEncoding(label.mimeType, head, isWhole) ?? (await guessedEncoding(head));
  if (!encoding) return [];
  const text = decoderOf(encoding.label).decode(head, { stream: !isWhole });
  const kind = textKindOf(label, text);
  if (kind === 'table') {
    return [delimitedSource(chunks, encoding, preferredDelimiter(label.name))];
  }
  if (kind !== 'json') return [];
  const exact = await exactEncoding(chunks(), encoding);
  return jsonTables(() => utf8Of(chunks(), exact), text, guessNote(exact));
}

function parquetSource(file: FileSource): TableSource {
  return {
    sheet: undefined,
    async write(workspace) {
      return { format: 'parquet', path: await workspace.write(bytesOf(file)), notes: [] };
    },
  };
}
