#!/usr/bin/env bash
# postal-mime joins the quoted lines of a flowed mail and leaves the quote marks inside of the text.
#
# One would guess: a paragraph that is quoted with format=flowed becomes one line with one mark. RFC 3676
# says that the marks are counted and taken away before lines are joined.
# What happens: each continued line keeps its mark, so ">" stands in the middle of the sentence. Lines
# that are not quoted are joined as they should be.
# Versions: postal-mime 4.0.0, Node 20.
# Why it matters: a service that hands mails to a model or searches them does not find a phrase that
# crosses a line of the quoted text, and quotes of quotes cannot be told from a ">" in a sentence.
#
# The output that was seen:
#   > The room is booked > for Monday.
#   Thank you, I will come.
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" postal-mime@4.0.0

cat > "$dir/probe.mjs" <<'EOF'
import PostalMime from 'postal-mime';

const mail = [
  'Content-Type: text/plain; charset=utf-8; format=flowed',
  '',
  '> The room is booked ',
  '> for Monday.',
  'Thank you, ',
  'I will come.',
  '',
];
const { text } = await PostalMime.parse(mail.join('\r\n'));
console.log(text.trimEnd());
EOF

expected='> The room is booked > for Monday.
Thank you, I will come.'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: flowed quotes are joined in another way." >&2
  exit 1
fi
