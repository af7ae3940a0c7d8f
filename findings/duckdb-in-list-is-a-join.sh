#!/usr/bin/env bash
# DuckDB makes a join of each IN with more than a few words, also in columns of a view that a statement does not use.
#
# One would guess: `c in ('na', 'n/a', 'null', …)` is a comparison, and a column of a view that nobody asks
# for costs nothing.
# What happens: from some number of words on, the list becomes a table and IN a hash join. A view with such
# a condition in 60 columns has 60 joins one in another, whichever columns are counted, and a table of 200
# rows takes more than 100 MB. With two words, or with list_contains, there is no join.
# Versions: @duckdb/node-api 1.5.6-r.1 (DuckDB 1.5.6), Node 20.
# Why it matters: who reads CSV files as texts and takes words such as NA for missing values writes this
# condition for each column. It works with ten columns, and fails with the 60 of a yearly statistic.
#
# The output that was seen:
#   in, two words: 0 joins, count 200
#   in, seven words: 60 joins, Out of Memory Error
#   list_contains, seven words: 0 joins, count 200
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" @duckdb/node-api@1.5.6-r.1

cat > "$dir/probe.mjs" <<'EOF'
import { DuckDBInstance } from '@duckdb/node-api';

const WORDS = `'na', 'n/a', 'null', 'nan', 'none', '-', '.'`;
const columns = Array.from({ length: 60 }, (_, index) => `c${index}`);
const instance = await DuckDBInstance.create(':memory:', { memory_limit: '100MB', threads: '1' });
const connection = await instance.connect();
const values = columns.map((column) => `cast(i as varchar) as ${column}`);
await connection.run(`create table texts as select ${values.join(', ')} from range(200) rows(i)`);

async function show(title, condition) {
  const numbers = columns.map((column) => `case when not ${condition(column)} then ${column} end as ${column}`);
  await connection.run(`create or replace view cleaned as select ${numbers.join(', ')} from texts`);
  const plan = await connection.runAndReadAll('explain select count(c0) from cleaned');
  const joins = JSON.stringify(plan.getRowsJson()).match(/HASH_JOIN/g)?.length ?? 0;
  const said = await connection.runAndReadAll('select count(c0) from cleaned').then(
    (reader) => `count ${reader.getRows()[0][0]}`,
    (error) => error.message.split(':')[0],
  );
  console.log(`${title}: ${joins} joins, ${said}`);
}

await show('in, two words', (column) => `(${column} in ('na', 'null'))`);
await show('in, seven words', (column) => `(${column} in (${WORDS}))`);
await show('list_contains, seven words', (column) => `list_contains([${WORDS}], ${column})`);
EOF

expected='in, two words: 0 joins, count 200
in, seven words: 60 joins, Out of Memory Error
list_contains, seven words: 0 joins, count 200'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: IN with several words is no join, or takes less memory." >&2
  exit 1
fi
