#!/usr/bin/env bash
# lz4js unpacks LZ4 frames that have a checksum for each block into wrong bytes, without an error.
#
# One would guess: checksums of blocks are an option of the frame format that a reader checks, or at least leaves out.
# What happens: the four bytes of each checksum are not skipped. The result has the right length and the
# wrong content, and nothing is thrown. A frame without the checksums is unpacked.
# Versions: lz4js 0.2.0, Node 20. Format: LZ4 frame 1.6.4, "Block checksum".
# Why it matters: Arrow files and Feather 2 may be packed with LZ4 frames, and some writers set this option.
# Whoever gives such a library to an Arrow reader gets other numbers than were written.
#
# The output that was seen:
#   without checksums of blocks: "first second"
#   with checksums of blocks: 12 bytes, as written: false
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" lz4js@0.2.0

cat > "$dir/probe.mjs" <<'EOF'
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { decompress } = require('lz4js');
const { hash } = require('lz4js/xxh32.js');

const TEXTS = ['first ', 'second'];
const checksum = (bytes) => {
  const sum = Buffer.alloc(4);
  sum.writeUInt32LE(hash(0, bytes, 0, bytes.length) >>> 0);
  return sum;
};

/** A frame of version 1 with independent blocks of up to 64 KiB, which are stored as they are. */
function frame(hasBlockChecksums) {
  const descriptor = Buffer.from([hasBlockChecksums ? 0x70 : 0x60, 0x40]);
  const parts = [Buffer.from([0x04, 0x22, 0x4d, 0x18]), descriptor, checksum(descriptor).subarray(1, 2)];
  for (const text of TEXTS) {
    const bytes = Buffer.from(text);
    const size = Buffer.alloc(4);
    size.writeUInt32LE((bytes.length | 0x80000000) >>> 0);
    parts.push(size, bytes);
    if (hasBlockChecksums) parts.push(checksum(bytes));
  }
  return Buffer.concat([...parts, Buffer.alloc(4)]);
}

console.log(`without checksums of blocks: ${JSON.stringify(Buffer.from(decompress(frame(false))).toString())}`);
const unpacked = Buffer.from(decompress(frame(true)));
console.log(
  `with checksums of blocks: ${unpacked.length} bytes, as written: ${unpacked.toString() === TEXTS.join('')}`,
);
EOF

expected='without checksums of blocks: "first second"
with checksums of blocks: 12 bytes, as written: false'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: frames with checksums of blocks are unpacked, or refused." >&2
  exit 1
fi
