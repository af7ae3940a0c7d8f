#!/usr/bin/env bash
# exceljs reads an .ods or .xlsb file as a workbook without worksheets, and raises no error.
#
# One would guess: xlsx.readFile of a file that is no .xlsx file rejects, as it does for an old .xls.
# What happens: .ods and .xlsb are ZIP archives, so the archive opens. exceljs skips the parts that it
# does not know and resolves. The workbook that one gets looks like one that a person left empty.
# Versions: exceljs 4.4.0, xlsx 0.18.5 (it writes the files), Node 20.
# Why it matters: a service that describes uploaded files says "no sheets" of a file full of data. It has
# to look at the kind of the file first, or treat no worksheets as an error: no spreadsheet has none.
#
# The output that was seen:
#   xlsx: 1 worksheets
#   ods: 0 worksheets
#   xlsb: 0 worksheets
#   xls: rejected
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" exceljs@4.4.0 xlsx@0.18.5

cat > "$dir/probe.mjs" <<'EOF'
import Excel from 'exceljs';
import sheetjs from 'xlsx';

const rows = [['city', 'amount'], ['Rome', 7]];
const book = sheetjs.utils.book_new();
sheetjs.utils.book_append_sheet(book, sheetjs.utils.aoa_to_sheet(rows), 'Sheet');
for (const kind of ['xlsx', 'ods', 'xlsb', 'xls']) {
  sheetjs.writeFile(book, `book.${kind}`);
  const workbook = new Excel.Workbook();
  const state = await workbook.xlsx.readFile(`book.${kind}`).then(
    () => `${workbook.worksheets.length} worksheets`,
    () => 'rejected',
  );
  console.log(`${kind}: ${state}`);
}
EOF

expected='xlsx: 1 worksheets
ods: 0 worksheets
xlsb: 0 worksheets
xls: rejected'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: files of other formats are treated in another way." >&2
  exit 1
fi
