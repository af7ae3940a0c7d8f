#!/usr/bin/env bash
# SheetJS joins the cells of an HTML table whose end tags are left out into one cell, without an error.
#
# One would guess: `</td>` and `</tr>` may be left out in HTML (Living Standard, 13.1.2.4), so `<tr><td>1<td>2` has two cells.
# What happens: the row has one cell with both texts, and two numbers become one: 1 and 2 are 12.
# Versions: @e965/xlsx 0.20.3 (SheetJS 0.20.3), Node 20.
# Why it matters: many programs export a page with a table as a file named .xls, which people open or convert
# with this library. The sum of a column is silently another one.
#
# The output that was seen:
#   with end tags: [["a","b"],[1,2]]
#   without end tags: [["ab"],[12]]
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" @e965/xlsx@0.20.3

cat > "$dir/probe.mjs" <<'EOF'
import * as XLSX from '@e965/xlsx';

function show(title, page) {
  const { SheetNames, Sheets } = XLSX.read(Buffer.from(page));
  console.log(`${title}: ${JSON.stringify(XLSX.utils.sheet_to_json(Sheets[SheetNames[0]], { header: 1 }))}`);
}

show('with end tags', '<table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table>');
show('without end tags', '<table><tr><td>a<td>b<tr><td>1<td>2</table>');
EOF

expected='with end tags: [["a","b"],[1,2]]
without end tags: [["ab"],[12]]'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: cells without end tags are cells." >&2
  exit 1
fi
