export function pdfOf(content: Uint8Array | string, times?: number, pages?: number): Buffer;
export function longStringPdf(): Buffer;
export function greedyPdf(length?: number): Buffer;
export function attributesDocx(count?: number): Buffer;
export function longDocx(paragraphs?: number): Buffer;
export function commentsText(): Buffer;
export function crowdedZip(entries: number): Buffer;
export function xlsxOf(rows: number): Promise<Buffer>;
export function zipOf(
  entries: [name: string, content: Buffer | { packed: Buffer; crc: number; size: number }][],
  claimed?: number,
): Buffer;
export function openDocumentOf(kind: string, content: string): Buffer;
export function tarOf(entry: { name?: string; type?: string; size?: string; blocks?: number }): Buffer;
export function nestedZip(levels: number, width: number): Buffer;
export function nestedMail(levels: number): string;
