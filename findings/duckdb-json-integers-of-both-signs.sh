#!/usr/bin/env bash
# DuckDB reads a JSON column of small integers as HUGEINT if one of them is negative and another is not.
#
# One would guess: -19 and 7 are BIGINT, as 5 and 7 are, and -5 and -7.
# What happens: read_json takes negative integers for BIGINT and others for UBIGINT, and what holds both is
# HUGEINT of 128 bits. With one sign in the column, the type is BIGINT.
# Versions: @duckdb/node-api 1.5.6-r.1 (DuckDB 1.5.6), Node 20.
# Why it matters: clients treat HUGEINT in their own way: JavaScript gets a BigInt, Parquet a double, and who
# takes it for a sign of identifiers that no 64 bits hold is wrong about columns such as delays and balances.
#
# The output that was seen:
#   5, 7: BIGINT
#   -5, -7: BIGINT
#   -19, 7: HUGEINT
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" @duckdb/node-api@1.5.6-r.1

cat > "$dir/probe.mjs" <<'EOF'
import { writeFileSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';

const connection = await (await DuckDBInstance.create()).connect();
for (const values of [[5, 7], [-5, -7], [-19, 7]]) {
  writeFileSync('rows.json', JSON.stringify(values.map((v) => ({ v }))));
  const described = await connection.runAndReadAll(`describe select * from read_json('rows.json')`);
  console.log(`${values.join(', ')}: ${described.getRows()[0][1]}`);
}
EOF

expected='5, 7: BIGINT
-5, -7: BIGINT
-19, 7: HUGEINT'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: integers of both signs in JSON have another type." >&2
  exit 1
fi
