#!/usr/bin/env bash
# A text such as part_x0041_1 changes when a workbook library writes it and reads it again.
#
# One would guess: a library that writes a text into a cell reads the same text from it.
# What happens: in the format _x0041_ is an escape for a character (ST_Xstring of ECMA-376), and such a
# text must be written as _x005F_x0041_. exceljs and SheetJS read escapes and write none, so each one
# changes its own file: the seven characters become the letter A. exceljs does not read them everywhere:
# in the file of SheetJS, which keeps texts in the cells, it finds the text unchanged.
# Versions: exceljs 4.4.0, xlsx 0.18.5, Node 20.
# Why it matters: encoded column names have this form (SharePoint and XML tools name columns so). Names
# that are exported by one library and imported again no longer match.
#
# The output that was seen:
#   written by exceljs: exceljs reads partA1, xlsx reads partA1
#   written by xlsx: exceljs reads part_x0041_1, xlsx reads partA1
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" exceljs@4.4.0 xlsx@0.18.5

cat > "$dir/probe.mjs" <<'EOF'
import Excel from 'exceljs';
import sheetjs from 'xlsx';

const text = 'part_x0041_1';
const made = new Excel.Workbook();
made.addWorksheet('Sheet').addRow([text]);
await made.xlsx.writeFile('exceljs.xlsx');
const book = sheetjs.utils.book_new();
sheetjs.utils.book_append_sheet(book, sheetjs.utils.aoa_to_sheet([[text]]), 'Sheet');
sheetjs.writeFile(book, 'xlsx.xlsx');

for (const writer of ['exceljs', 'xlsx']) {
  const workbook = new Excel.Workbook();
  await workbook.xlsx.readFile(`${writer}.xlsx`);
  const one = workbook.worksheets[0].getCell('A1').value;
  const other = sheetjs.readFile(`${writer}.xlsx`).Sheets.Sheet.A1.v;
  console.log(`written by ${writer}: exceljs reads ${one}, xlsx reads ${other}`);
}
EOF

expected='written by exceljs: exceljs reads partA1, xlsx reads partA1
written by xlsx: exceljs reads part_x0041_1, xlsx reads partA1'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: the text is written or read in another way." >&2
  exit 1
fi
