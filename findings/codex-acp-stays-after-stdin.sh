#!/usr/bin/env bash
# Closing stdin does not end codex-acp.
#
# One would guess: an agent that speaks over stdin and stdout ends when its stdin ends, because nobody
# can send it anything any more.
# What happens: the process still runs 12 seconds later, with no session open. SIGTERM ends it at once.
# Versions: @zed-industries/codex-acp 0.16.0 (Linux, x64), Node 20.
# Why it matters: if the program that started the agent is killed, the agent stays and keeps its memory.
# A service must end its agents by signal, and look for leftovers when it starts.
#
# The output that was seen:
#   initialize: protocol version 1
#   12 seconds after the end of stdin: running
#   after SIGTERM: ended by SIGTERM
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" @zed-industries/codex-acp-linux-x64@0.16.0

cat > "$dir/probe.mjs" <<'EOF'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

mkdirSync('home');
const home = `${process.cwd()}/home`;
writeFileSync('home/config.toml', 'check_for_update_on_startup = false\nanalytics.enabled = false\n');
const env = { PATH: process.env.PATH, HOME: home, CODEX_HOME: home };
const program = 'node_modules/@zed-industries/codex-acp-linux-x64/bin/codex-acp';
const agent = spawn(program, { env, stdio: ['pipe', 'pipe', 'ignore'] });
const ended = once(agent, 'exit').then(([code, signal]) => `ended by ${signal ?? `code ${code}`}`);
const params = { protocolVersion: 1, clientCapabilities: {} };
const lines = createInterface({ input: agent.stdout });
agent.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
const [line] = await once(lines, 'line');
console.log(`initialize: protocol version ${JSON.parse(line).result.protocolVersion}`);
agent.stdin.end();
const state = await Promise.race([ended, pause(12_000, 'running')]);
console.log(`12 seconds after the end of stdin: ${state}`);
agent.kill('SIGTERM');
console.log(`after SIGTERM: ${await Promise.race([ended, pause(5_000, 'running')])}`);
agent.kill('SIGKILL');
EOF

expected='initialize: protocol version 1
12 seconds after the end of stdin: running
after SIGTERM: ended by SIGTERM'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: the agent ends in another way." >&2
  exit 1
fi
