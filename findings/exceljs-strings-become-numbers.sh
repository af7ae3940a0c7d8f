#!/usr/bin/env bash
# exceljs reads texts as the numbers 0, 1, 2 if the part of the shared strings has another file name.
#
# One would guess: the parts of a workbook are found by its relationships, as the format (ECMA-376)
# defines it. If a reader did not find the texts, it would say so.
# What happens: exceljs looks for xl/sharedStrings.xml. A workbook whose relationship names xl/strings.xml
# opens without an error. Each cell with a text then has the position of its text as a whole number.
# Versions: exceljs 4.4.0, jszip 3.10.1 (it renames the part), xlsx 0.18.5 (for comparison), Node 20.
# Why it matters: the wrong values look like data. Sums and counts of such a sheet are wrong without a
# word, so a service that reads workbooks of many programs should compare readers or check the name.
#
# The output that was seen:
#   exceljs, usual name: ["city","Rome","Oslo",7]
#   exceljs, other name: [0,1,2,7]
#   xlsx, other name: ["city","Rome","Oslo",7]
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" exceljs@4.4.0 jszip@3.10.1 xlsx@0.18.5

cat > "$dir/probe.mjs" <<'EOF'
import { readFileSync, writeFileSync } from 'node:fs';
import Excel from 'exceljs';
import JSZip from 'jszip';
import sheetjs from 'xlsx';

const made = new Excel.Workbook();
made.addWorksheet('Sheet').addRow(['city', 'Rome', 'Oslo', 7]);
await made.xlsx.writeFile('usual.xlsx');

// The part gets another name, and the two places that name it follow.
const zip = await JSZip.loadAsync(readFileSync('usual.xlsx'));
zip.file('xl/strings.xml', await zip.file('xl/sharedStrings.xml').async('string'));
zip.remove('xl/sharedStrings.xml');
for (const name of ['xl/_rels/workbook.xml.rels', '[Content_Types].xml']) {
  const text = await zip.file(name).async('string');
  zip.file(name, text.replace('sharedStrings.xml', 'strings.xml'));
}
writeFileSync('other.xlsx', await zip.generateAsync({ type: 'nodebuffer' }));

const readByExceljs = async (file) => {
  const workbook = new Excel.Workbook();
  await workbook.xlsx.readFile(file);
  return JSON.stringify(workbook.worksheets[0].getRow(1).values.slice(1));
};
const { Sheets } = sheetjs.readFile('other.xlsx');
const [row] = sheetjs.utils.sheet_to_json(Sheets.Sheet, { header: 1 });
console.log(`exceljs, usual name: ${await readByExceljs('usual.xlsx')}`);
console.log(`exceljs, other name: ${await readByExceljs('other.xlsx')}`);
console.log(`xlsx, other name: ${JSON.stringify(row)}`);
EOF

expected='exceljs, usual name: ["city","Rome","Oslo",7]
exceljs, other name: [0,1,2,7]
xlsx, other name: ["city","Rome","Oslo",7]'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: the texts of a renamed part are read in another way." >&2
  exit 1
fi
