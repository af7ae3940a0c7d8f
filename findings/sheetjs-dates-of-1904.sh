#!/usr/bin/env bash
# SheetJS gives a date that is four years early for a workbook that counts its days from 1904.
#
# One would guess: a cell that is read with cellDates has the date that its shown text has.
# What happens: the text of the cell is right and its Date is 1,462 days early. Without cellDates the
# number of days is passed on as it is in the file, and the shown text is right as well.
# Versions: xlsx 0.18.5 (the newest on npm), exceljs 4.4.0 (it writes the file and reads it right), Node 20.
# Why it matters: such workbooks come from Excel for Mac of earlier years and from every copy of them.
# A wrong year passes every check of a type. A service must add the days itself if date1904 is set.
#
# The output that was seen:
#   exceljs: 2024-03-01
#   xlsx, shown text: 2024-03-01
#   xlsx, date: 2020-02-29
#   xlsx, date1904 of the workbook: true
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" exceljs@4.4.0 xlsx@0.18.5

cat > "$dir/probe.mjs" <<'EOF'
import Excel from 'exceljs';
import sheetjs from 'xlsx';

const made = new Excel.Workbook();
made.properties.date1904 = true;
const cell = made.addWorksheet('Sheet').getCell('A1');
cell.value = new Date(Date.UTC(2024, 2, 1));
cell.numFmt = 'yyyy-mm-dd';
await made.xlsx.writeFile('book.xlsx');

const workbook = new Excel.Workbook();
await workbook.xlsx.readFile('book.xlsx');
const day = (date) => date.toISOString().slice(0, 10);
console.log(`exceljs: ${day(workbook.worksheets[0].getCell('A1').value)}`);
const { Sheets, Workbook } = sheetjs.readFile('book.xlsx', { cellDates: true });
console.log(`xlsx, shown text: ${Sheets.Sheet.A1.w}`);
console.log(`xlsx, date: ${day(Sheets.Sheet.A1.v)}`);
console.log(`xlsx, date1904 of the workbook: ${Workbook.WBProps.date1904}`);
EOF

expected='exceljs: 2024-03-01
xlsx, shown text: 2024-03-01
xlsx, date: 2020-02-29
xlsx, date1904 of the workbook: true'
seen=$(cd "$dir" && TZ=UTC timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: dates of such a workbook are read in another way." >&2
  exit 1
fi
