#!/usr/bin/env bash
# ical.js removes the escape of a semicolon in calendars, and leaves it in contacts.
#
# One would guess: `\;` in a text is a semicolon in iCalendar (RFC 5545, 3.3.11), and in vCard, which allows the
# escape (RFC 6350, 3.4), as `\,` is a comma.
# What happens: SUMMARY of an event has ";", NOTE and FN of a contact have "\;". The comma is right in both.
# Versions: ical.js 2.2.1, Node 20.
# Why it matters: address books escape semicolons in notes and names, and a person sees the backslash.
#
# The output that was seen:
#   SUMMARY: one; two, three
#   NOTE: one\; two, three
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" ical.js@2.2.1

cat > "$dir/probe.mjs" <<'EOF'
import ICAL from 'ical.js';

const TEXT = String.raw`one\; two\, three`;
const event = ICAL.parse(
  ['BEGIN:VCALENDAR', 'BEGIN:VEVENT', `SUMMARY:${TEXT}`, 'END:VEVENT', 'END:VCALENDAR'].join('\r\n'),
);
const card = ICAL.parse(['BEGIN:VCARD', 'VERSION:4.0', 'FN:Ann', `NOTE:${TEXT}`, 'END:VCARD'].join('\r\n'));
console.log(`SUMMARY: ${event[2][0][1].find(([name]) => name === 'summary')[3]}`);
console.log(`NOTE: ${card[1].find(([name]) => name === 'note')[3]}`);
EOF

expected='SUMMARY: one; two, three
NOTE: one\; two, three'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: the escape of a semicolon in a contact is removed." >&2
  exit 1
fi
