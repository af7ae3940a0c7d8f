#!/usr/bin/env bash
# DuckDB reads other numbers than a Parquet file has, where a decimal may have more than 38 digits.
#
# One would guess: DuckDB refuses DECIMAL(76,2), or rounds it to a double, as it does with bytes of a fixed
# length (FIXED_LEN_BYTE_ARRAY).
# What happens: in bytes of any length (BYTE_ARRAY), which the format allows for decimals, 1.00 is read as a
# number of seventeen digits, without an error. With DECIMAL(38,2) the same bytes are read right.
# Versions: @duckdb/node-api 1.5.6-r.1 (DuckDB 1.5.6), hyparquet-writer 0.17.0 and hyparquet 1.33.0, Node 20.
# Why it matters: sums of such a column are wrong in every digit, and nothing says so.
# The format: https://parquet.apache.org/docs/file-format/types/logicaltypes/ (DECIMAL).
#
# The output that was seen, for 1.00 and 2.50:
#   BYTE_ARRAY, 38 digits: DECIMAL(38,2) 1.00 2.50
#   FIXED_LEN_BYTE_ARRAY, 76 digits: DOUBLE 1 2.5
#   BYTE_ARRAY, 76 digits: DOUBLE 72057594037927940 703687441776640
#   the same file, hyparquet: 1 2.5
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" \
  @duckdb/node-api@1.5.6-r.1 hyparquet-writer@0.17.0 hyparquet@1.33.0

cat > "$dir/probe.mjs" <<'EOF'
import { writeFileSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { parquetWriteBuffer } from 'hyparquet-writer';

const connection = await (await DuckDBInstance.create(':memory:')).connect();
function write(type) {
  const amount = { name: 'amount', repetition_type: 'REQUIRED', converted_type: 'DECIMAL', scale: 2, ...type };
  const schema = [{ name: 'root', num_children: 1 }, amount];
  const columnData = [{ name: 'amount', data: [100n, 250n] }];
  writeFileSync('amounts.parquet', Buffer.from(parquetWriteBuffer({ schema, columnData })));
}
async function show(title, type) {
  write(type);
  const reader = await connection.runAndReadAll(`select typeof(amount), amount from 'amounts.parquet'`);
  const rows = reader.getRowsJson();
  console.log(`${title}: ${rows[0][0]} ${rows.map(([, amount]) => amount).join(' ')}`);
}
await show('BYTE_ARRAY, 38 digits', { type: 'BYTE_ARRAY', precision: 38 });
await show('FIXED_LEN_BYTE_ARRAY, 76 digits', { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 32, precision: 76 });
await show('BYTE_ARRAY, 76 digits', { type: 'BYTE_ARRAY', precision: 76 });
const rows = await parquetReadObjects({ file: await asyncBufferFromFile('amounts.parquet') });
console.log(`the same file, hyparquet: ${rows.map(({ amount }) => amount).join(' ')}`);
EOF

expected='BYTE_ARRAY, 38 digits: DECIMAL(38,2) 1.00 2.50
FIXED_LEN_BYTE_ARRAY, 76 digits: DOUBLE 1 2.5
BYTE_ARRAY, 76 digits: DOUBLE 72057594037927940 703687441776640
the same file, hyparquet: 1 2.5'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: DuckDB reads long decimals of Parquet in another way." >&2
  exit 1
fi
