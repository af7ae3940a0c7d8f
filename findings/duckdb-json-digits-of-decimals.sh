#!/usr/bin/env bash
# DuckDB reads a decimal of a JSON file as a double, also where the column is declared as a text or as a decimal.
#
# One would guess: `columns = {n: 'VARCHAR'}` keeps the digits that the file has, and DECIMAL(38,20) is exact.
# What happens: the text has the digits of the nearest double, and the decimal has digits that were never
# there. Integers of any length are exact, and so are the objects of read_json_objects.
# Versions: @duckdb/node-api 1.5.6-r.1 (DuckDB 1.5.6), Node 20.
# Why it matters: who declares texts to keep amounts exactly adds up other amounts, without an error.
#
# The output that was seen, for the number 9007199254740993.01 and the integer 123456789012345678901234567890:
#   VARCHAR: 9007199254740994.0
#   DECIMAL(38,20): 9007199254740993.47573952589676412928
#   an integer as VARCHAR: 123456789012345678901234567890
#   read_json_objects: {"n":9007199254740993.01}
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" @duckdb/node-api@1.5.6-r.1

echo '[{"n":9007199254740993.01}]' > "$dir/decimal.json"
echo '[{"n":123456789012345678901234567890}]' > "$dir/integer.json"
cat > "$dir/probe.mjs" <<'EOF'
import { DuckDBInstance } from '@duckdb/node-api';

const connection = await (await DuckDBInstance.create(':memory:')).connect();
async function show(title, statement) {
  const reader = await connection.runAndReadAll(statement);
  console.log(`${title}: ${reader.getRowsJson()[0][0]}`);
}
await show('VARCHAR', `select n from read_json('decimal.json', columns = {n: 'VARCHAR'})`);
await show('DECIMAL(38,20)', `select n from read_json('decimal.json', columns = {n: 'DECIMAL(38,20)'})`);
await show('an integer as VARCHAR', `select n from read_json('integer.json', columns = {n: 'VARCHAR'})`);
await show('read_json_objects', `select json from read_json_objects('decimal.json')`);
EOF

expected='VARCHAR: 9007199254740994.0
DECIMAL(38,20): 9007199254740993.47573952589676412928
an integer as VARCHAR: 123456789012345678901234567890
read_json_objects: {"n":9007199254740993.01}'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: DuckDB reads the decimals of JSON in another way." >&2
  exit 1
fi
