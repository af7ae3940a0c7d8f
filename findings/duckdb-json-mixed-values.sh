#!/usr/bin/env bash
# In DuckDB one number among the texts of a JSON file makes a comparison with a text an error.
#
# One would guess: read_json gives a column of texts and a number the type VARCHAR, as read_csv does.
# What happens: the column has the type JSON. Its texts keep their quotes, and code = 'A1' converts the
# constant to JSON and fails. The comparison with '7' works, for 7 is JSON. The operator ->> gives texts.
# Versions: @duckdb/node-api 1.5.6-r.1 (DuckDB 1.5.6), Node 20.
# Why it matters: one odd row of a thousand changes how a column must be asked. A model that writes SQL
# for an uploaded file gets an error about byte 0 of an input that is not in the file.
#
# The output that was seen:
#   only texts: VARCHAR, A1
#   code = 'A1' finds 1
#   one number: JSON, "A1"
#   code = 'A1' fails: Conversion Error: Malformed JSON at byte 0 of input: unexpected character.  Input: "A1"
#   code = '7' finds 1
#   code->>'$' = 'A1' finds 1
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
const find = async (condition) => {
  const said = await rowsOf(`select count(*) from 'codes.json' where ${condition}`).then(
    ([[count]]) => `finds ${count}`,
    (error) => `fails: ${error.message.split('\n')[0]}`,
  );
  console.log(`${condition} ${said}`);
};
const write = async (title, last) => {
  writeFileSync('codes.json', JSON.stringify([{ code: 'A1' }, { code: 'B2' }, { code: last }]));
  const [row] = await rowsOf(`select typeof(code), code from 'codes.json'`);
  console.log(`${title}: ${row.join(', ')}`);
};

await write('only texts', 'C3');
await find(`code = 'A1'`);
await write('one number', 7);
await find(`code = 'A1'`);
await find(`code = '7'`);
await find(`code->>'$' = 'A1'`);
EOF

expected=$(cat <<'EOF'
only texts: VARCHAR, A1
code = 'A1' finds 1
one number: JSON, "A1"
code = 'A1' fails: Conversion Error: Malformed JSON at byte 0 of input: unexpected character.  Input: "A1"
code = '7' finds 1
code->>'$' = 'A1' finds 1
EOF
)
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: a column of mixed values is read or compared in another way." >&2
  exit 1
fi
