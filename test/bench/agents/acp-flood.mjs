/** An agent of ACP that answers each prompt with deltas, `DELTAS` of them, as fast as they are read; with the argument `lines`, only their lines. */
import { createInterface } from 'node:readline';

const DELTAS = Number(process.env.DELTAS);
const BLOCK = 100;

const lineOf = (message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;

function deltaOf(number) {
  const content = { type: 'text', text: `token ${number} ` };
  const update = { sessionUpdate: 'agent_message_chunk', content };
  return lineOf({ method: 'session/update', params: { sessionId: 'bench', update } });
}

async function flood() {
  for (let sent = 0; sent < DELTAS; sent += BLOCK) {
    const lines = Array.from({ length: BLOCK }, (_, index) => deltaOf(sent + index)).join('');
    if (!process.stdout.write(lines)) await new Promise((go) => process.stdout.once('drain', go));
  }
}

const RESULTS = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: {} }),
  'session/new': () => ({ sessionId: 'bench' }),
  'session/prompt': async () => {
    await flood();
    return { stopReason: 'end_turn' };
  },
};

if (process.argv[2] === 'lines') await flood();
else
  createInterface({ input: process.stdin }).on('line', async (line) => {
    const { id, method } = JSON.parse(line);
    const result = await RESULTS[method]?.();
    if (id !== undefined) process.stdout.write(lineOf({ id, result }));
  });
