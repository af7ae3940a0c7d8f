#!/usr/bin/env bash
# DuckDB writes the sum of whole numbers to Parquet as a DOUBLE, and two sums become one.
#
# One would guess: COPY to Parquet keeps the type of a column, or it refuses a type that Parquet lacks.
# What happens: the sum of BIGINT is a HUGEINT. COPY turns each HUGEINT into a DOUBLE without a word, and
# the last digits of large numbers change. A cast to BIGINT or DECIMAL(38, 0) keeps them.
# Versions: @duckdb/node-api 1.5.6-r.1 (DuckDB 1.5.6), Node 20.
# Why it matters: sums of nanoseconds, of bytes or of cents pass 2^53 soon. A service that exports the
# result of a query as Parquet hands out other numbers than the ones that it showed.
#
# The output that was seen:
#   query: HUGEINT 9007199254740993, HUGEINT 9007199254740992, 2 different
#   Parquet: DOUBLE 9007199254740992, DOUBLE 9007199254740992, 1 different
#   Parquet with a cast: BIGINT 9007199254740993, BIGINT 9007199254740992, 2 different
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" @duckdb/node-api@1.5.6-r.1

cat > "$dir/probe.mjs" <<'EOF'
import { DuckDBInstance } from '@duckdb/node-api';

const instance = await DuckDBInstance.create(':memory:');
const connection = await instance.connect();
const rowsOf = async (sql) => (await connection.runAndReadAll(sql)).getRows();

await connection.run(`create table parts as select * from (values
  ('a', 9007199254740992), ('a', 1), ('b', 9007199254740991), ('b', 1)) t(name, size)`);
const sums = 'select name, sum(size) as total from parts group by name';
await connection.run(`copy (${sums}) to 'sums.parquet'`);
await connection.run(`copy (select name, total::bigint as total from (${sums})) to 'cast.parquet'`);
const sources = { query: `(${sums})`, Parquet: `'sums.parquet'`, 'Parquet with a cast': `'cast.parquet'` };
for (const [title, source] of Object.entries(sources)) {
  const rows = await rowsOf(`select typeof(total), total from ${source} order by name`);
  const [[different]] = await rowsOf(`select count(distinct total) from ${source}`);
  console.log(`${title}: ${rows.map((row) => row.join(' ')).join(', ')}, ${different} different`);
}
EOF

expected='query: HUGEINT 9007199254740993, HUGEINT 9007199254740992, 2 different
Parquet: DOUBLE 9007199254740992, DOUBLE 9007199254740992, 1 different
Parquet with a cast: BIGINT 9007199254740993, BIGINT 9007199254740992, 2 different'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: sums are written to Parquet in another way." >&2
  exit 1
fi
