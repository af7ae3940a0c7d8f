#!/usr/bin/env bash
# DuckDB reads JSON objects with 200 members as one column, and those with 199 as 199 columns.
#
# One would guess: each member of the objects in a JSON file is a column, however many there are.
# What happens: from 200 members of one type on, the file has a single column named "json" of the type
# MAP. A query that names a member fails. With a text among the numbers the columns are there again. The
# option map_inference_threshold = -1 gives the columns for every file.
# Versions: @duckdb/node-api 1.5.6-r.1 (DuckDB 1.5.6), Node 20.
# Why it matters: tables of measurements have hundreds of columns. A query that works for one file of a
# series fails for the next one, which has one member more.
#
# The output that was seen:
#   199 numbers: 199 columns, first m0 BIGINT, sum(m1) is 2
#   200 numbers: 1 columns, first json MAP(VARCHAR, BIGINT), sum(m1) fails: Binder Error
#   199 numbers and a name: 200 columns, first m0 BIGINT, sum(m1) is 2
#   200 numbers, with the option: 200 columns, first m0 BIGINT, sum(m1) is 2
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
  const asked = await rowsOf(`select sum(m1) from ${source}`).then(
    ([[sum]]) => `sum(m1) is ${sum}`,
    (error) => `sum(m1) fails: ${error.message.split('\n')[0].split(':')[0]}`,
  );
  console.log(`${title}: ${columns.length} columns, first ${columns[0].join(' ')}, ${asked}`);
};
const write = (file, count, more = {}) => {
  const members = Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${index}`, index]));
  writeFileSync(file, JSON.stringify([{ ...members, ...more }, { ...members, ...more }]));
};

write('199.json', 199);
write('200.json', 200);
write('name.json', 199, { name: 'Rome' });
await describe('199 numbers', `'199.json'`);
await describe('200 numbers', `'200.json'`);
await describe('199 numbers and a name', `'name.json'`);
await describe('200 numbers, with the option', `read_json('200.json', map_inference_threshold = -1)`);
EOF

expected='199 numbers: 199 columns, first m0 BIGINT, sum(m1) is 2
200 numbers: 1 columns, first json MAP(VARCHAR, BIGINT), sum(m1) fails: Binder Error
199 numbers and a name: 200 columns, first m0 BIGINT, sum(m1) is 2
200 numbers, with the option: 200 columns, first m0 BIGINT, sum(m1) is 2'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: objects with many members are read in another way." >&2
  exit 1
fi
