#!/usr/bin/env bash
# DuckDB reads the same dates of a CSV file as other days when one more row is added at the end.
#
# One would guess: dates such as 03/04/2024, which can be read in two ways, stay texts, or they are read
# in one fixed order.
# What happens: the sniffer takes the day first, without a word. One row with 25 in the second place
# changes all rows: 3 April becomes 4 March. The column is a DATE both times. The option dateformat says
# the order, and a row that does not fit is then an error.
# Versions: @duckdb/node-api 1.5.6-r.1 (DuckDB 1.5.6), Node 20.
# Why it matters: an export that grows from day to day shows other dates for its old rows. An American
# file whose days are all below 13 is read wrong, and nothing in the types shows it.
#
# The output that was seen:
#   two rows: DATE 2024-04-03, DATE 2024-06-05
#   one row more: DATE 2024-03-04, DATE 2024-05-06, DATE 2024-03-25
#   two rows, dateformat: DATE 2024-03-04, DATE 2024-05-06
#   one row more, day first: Conversion Error
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" @duckdb/node-api@1.5.6-r.1

cat > "$dir/probe.mjs" <<'EOF'
import { writeFileSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';

const instance = await DuckDBInstance.create(':memory:');
const connection = await instance.connect();
const show = async (title, source) => {
  const said = await connection.runAndReadAll(`select typeof(day), day::varchar from ${source}`).then(
    (reader) => reader.getRows().map((row) => row.join(' ')).join(', '),
    (error) => error.message.split(':')[0],
  );
  console.log(`${title}: ${said}`);
};

writeFileSync('two.csv', 'day\n03/04/2024\n05/06/2024\n');
writeFileSync('three.csv', 'day\n03/04/2024\n05/06/2024\n03/25/2024\n');
await show('two rows', `'two.csv'`);
await show('one row more', `'three.csv'`);
await show('two rows, dateformat', `read_csv('two.csv', dateformat = '%m/%d/%Y')`);
const dayFirst = `columns = {day: 'DATE'}, dateformat = '%d/%m/%Y', header = true`;
await show('one row more, day first', `read_csv('three.csv', ${dayFirst})`);
EOF

expected='two rows: DATE 2024-04-03, DATE 2024-06-05
one row more: DATE 2024-03-04, DATE 2024-05-06, DATE 2024-03-25
two rows, dateformat: DATE 2024-03-04, DATE 2024-05-06
one row more, day first: Conversion Error'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: dates in slashes are read in another order." >&2
  exit 1
fi
