#!/usr/bin/env bash
# DuckDB reads a CSV file whose rows differ in length as one column, and raises no error.
#
# One would guess: rows with a cell too few or too many are an error, or their missing cells are null.
# A header with commas makes the comma the separator.
# What happens: if no separator fits all rows, the sniffer takes the whole lines. The table has a single
# column of texts that is named by the whole header. With null_padding the columns are there, and a row
# with a cell too many gives the table one more.
# Versions: @duckdb/node-api 1.5.6-r.1 (DuckDB 1.5.6), Node 20.
# Why it matters: count(*) is right, so a check of the number of rows passes. The first query that names
# a column fails, far from the row that is the cause.
#
# The output that was seen:
#   even rows: "a" BIGINT "b" BIGINT "c" BIGINT; ["1","2","3"] ["4","5","6"]
#   uneven rows: "a,b,c" VARCHAR; ["1,2"] ["1,2,3,4"] ["1,2,3"]
#   uneven rows, null_padding: "a" BIGINT "b" BIGINT "c" BIGINT "column3" BIGINT; ["1","2","null","null"] ["1","2","3","4"] ["1","2","3","null"]
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" @duckdb/node-api@1.5.6-r.1

cat > "$dir/probe.mjs" <<'EOF'
import { writeFileSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';

const instance = await DuckDBInstance.create(':memory:');
const connection = await instance.connect();
const rowsOf = async (sql) => (await connection.runAndReadAll(sql)).getRows();
const describe = async (title, source) => {
  const columns = await rowsOf(`select column_name, column_type from (describe select * from ${source})`);
  const rows = await rowsOf(`select * from ${source}`);
  const names = columns.map(([name, type]) => `"${name}" ${type}`).join(' ');
  console.log(`${title}: ${names}; ${rows.map((row) => JSON.stringify(row.map(String))).join(' ')}`);
};

writeFileSync('even.csv', 'a,b,c\n1,2,3\n4,5,6\n');
writeFileSync('uneven.csv', 'a,b,c\n1,2\n1,2,3,4\n1,2,3\n');
await describe('even rows', `'even.csv'`);
await describe('uneven rows', `'uneven.csv'`);
await describe('uneven rows, null_padding', `read_csv('uneven.csv', null_padding = true)`);
EOF

expected='even rows: "a" BIGINT "b" BIGINT "c" BIGINT; ["1","2","3"] ["4","5","6"]
uneven rows: "a,b,c" VARCHAR; ["1,2"] ["1,2,3,4"] ["1,2,3"]
uneven rows, null_padding: "a" BIGINT "b" BIGINT "c" BIGINT "column3" BIGINT; ["1","2","null","null"] ["1","2","3","4"] ["1","2","3","null"]'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: rows of different lengths are read in another way." >&2
  exit 1
fi
