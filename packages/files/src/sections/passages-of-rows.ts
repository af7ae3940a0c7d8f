import type { TextSheet } from '../formats/text-sheet.js';
import type { MoreText } from '../tables/more-tables.js';
import type { Passages } from './passage.js';

/** The rows of sheets. */
export async function* passagesOfSheets(sheets: TextSheet[]): Passages {
  for (const { name, rows } of sheets) {
    for await (const { number, cells } of rows()) {
      yield { place: { sheet: name, row: number }, text: cells.filter((cell) => cell !== null).join(' | ') };
    }
  }
}

/** The lines and rows of what another package reads. */
export async function* passagesOfTexts(texts: MoreText[]): Passages {
  for (const { sheet, rows } of texts) {
    for await (const { number, text, isLine } of rows()) {
      yield { place: { ...(sheet !== undefined && { sheet }), [isLine ? 'line' : 'row']: number }, text };
    }
  }
}
