#!/usr/bin/env bash
# DuckDB reads a time with an offset from JSON as another time if the type that it finds itself is stated.
#
# One would guess: read_json finds the type TIMESTAMP, so to state TIMESTAMP for the column changes nothing.
# What happens: where it finds the type, the offset is applied, and 10:00+02:00 is 08:00 in UTC. Where the
# same type is stated, the offset is dropped without an error, and the time is 10:00. A cast does that too.
# From CSV it finds TIMESTAMP WITH TIME ZONE; to state TIMESTAMP drops the offset there as well.
# Versions: @duckdb/node-api 1.5.6-r.1 (DuckDB 1.5.6), Node 20.
# Why it matters: who fixes the types of a file once they were found, so that later files cannot change
# them, moves all times by hours, and no row is refused.
#
# The output that was seen:
#   JSON, as it finds it: TIMESTAMP 2024-01-02 08:00:00
#   JSON, as TIMESTAMP: TIMESTAMP 2024-01-02 10:00:00
#   JSON, as TIMESTAMPTZ: TIMESTAMP WITH TIME ZONE 2024-01-02 08:00:00+00
#   CSV, as it finds it: TIMESTAMP WITH TIME ZONE 2024-01-02 08:00:00+00
#   CSV, as TIMESTAMP: TIMESTAMP 2024-01-02 10:00:00
#   CSV, as TIMESTAMPTZ: TIMESTAMP WITH TIME ZONE 2024-01-02 08:00:00+00
#   a cast: TIMESTAMP 2024-01-02 10:00:00
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" @duckdb/node-api@1.5.6-r.1

cat > "$dir/probe.mjs" <<'EOF'
import { writeFileSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';

const instance = await DuckDBInstance.create(':memory:');
const connection = await instance.connect();
await connection.run(`set TimeZone = 'UTC'`);
const show = async (title, source) => {
  const reader = await connection.runAndReadAll(`select typeof(t), t::varchar from ${source}`);
  console.log(`${title}: ${reader.getRows()[0].join(' ')}`);
};

writeFileSync('t.json', '[{"t":"2024-01-02T10:00:00+02:00"}]');
writeFileSync('t.csv', 't\n2024-01-02T10:00:00+02:00\n');
for (const [kind, read] of [['JSON', `read_json('t.json'`], ['CSV', `read_csv('t.csv'`]]) {
  await show(`${kind}, as it finds it`, `${read})`);
  await show(`${kind}, as TIMESTAMP`, `${read}, columns = {t: 'TIMESTAMP'})`);
  await show(`${kind}, as TIMESTAMPTZ`, `${read}, columns = {t: 'TIMESTAMPTZ'})`);
}
await show('a cast', `(select '2024-01-02T10:00:00+02:00'::timestamp as t)`);
EOF

expected='JSON, as it finds it: TIMESTAMP 2024-01-02 08:00:00
JSON, as TIMESTAMP: TIMESTAMP 2024-01-02 10:00:00
JSON, as TIMESTAMPTZ: TIMESTAMP WITH TIME ZONE 2024-01-02 08:00:00+00
CSV, as it finds it: TIMESTAMP WITH TIME ZONE 2024-01-02 08:00:00+00
CSV, as TIMESTAMP: TIMESTAMP 2024-01-02 10:00:00
CSV, as TIMESTAMPTZ: TIMESTAMP WITH TIME ZONE 2024-01-02 08:00:00+00
a cast: TIMESTAMP 2024-01-02 10:00:00'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: the offset of a time is treated in another way." >&2
  exit 1
fi
