#!/usr/bin/env bash
# SheetJS drops a formula that has no stored result, so reading and writing a workbook loses it.
#
# One would guess: a cell with a formula is a cell, whether or not a program has computed it yet. A
# workbook that is read and written again has the same formulas.
# What happens: the cell does not exist for the reader, and the written file has no formula. With the
# option sheetStubs, which is documented for empty cells, the formula is kept.
# Versions: xlsx 0.18.5, exceljs 4.4.0 (it writes the first file and reads the written ones), Node 20.
# Why it matters: libraries that make reports store formulas without results. A tool that changes one
# cell of such a report removes its totals, and nobody is told.
#
# The output that was seen:
#   before: SUM(A1:A2)
#   after reading and writing: nothing
#   after reading and writing with sheetStubs: SUM(A1:A2)
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" exceljs@4.4.0 xlsx@0.18.5

cat > "$dir/probe.mjs" <<'EOF'
import Excel from 'exceljs';
import sheetjs from 'xlsx';

const made = new Excel.Workbook();
const sheet = made.addWorksheet('Sheet');
sheet.addRows([[2], [3]]);
sheet.getCell('A3').value = { formula: 'SUM(A1:A2)' };
await made.xlsx.writeFile('made.xlsx');
sheetjs.writeFile(sheetjs.readFile('made.xlsx'), 'plain.xlsx');
sheetjs.writeFile(sheetjs.readFile('made.xlsx', { sheetStubs: true }), 'stubs.xlsx');

const formula = async (file) => {
  const workbook = new Excel.Workbook();
  await workbook.xlsx.readFile(file);
  return workbook.worksheets[0].getCell('A3').formula ?? 'nothing';
};
console.log(`before: ${await formula('made.xlsx')}`);
console.log(`after reading and writing: ${await formula('plain.xlsx')}`);
console.log(`after reading and writing with sheetStubs: ${await formula('stubs.xlsx')}`);
EOF

expected='before: SUM(A1:A2)
after reading and writing: nothing
after reading and writing with sheetStubs: SUM(A1:A2)'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: formulas without results are treated in another way." >&2
  exit 1
fi
