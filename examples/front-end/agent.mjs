/**
 * An agent to try the page with: AGENT=./examples/front-end/agent.mjs npm start
 *
 * It repeats a text word by word, says how long a file is, and asks before it refunds an order: "refund 881".
 */
import { setTimeout as pause } from 'node:timers/promises';

export default async function* answer({ parts }, { ask, signal }) {
  for (const part of parts) {
    if (part.type === 'file') yield message(`${part.name} has ${part.file.size} bytes. `);
    else if (part.text.startsWith('refund ')) yield await refund(part.text.slice('refund '.length), ask);
    else {
      for (const word of part.text.split(/\s+/).filter(Boolean)) {
        yield message(`${word} `);
        await pause(200, undefined, { signal });
      }
    }
  }
}

async function refund(order, ask) {
  const toolCallId = `refund_${order}`;
  const call = { toolCallId, name: 'refund', arguments: { order } };
  const [answer] = await ask([
    { key: toolCallId, kind: 'approval', message: `Refund the order ${order}?`, ...call },
  ]);
  const isApproved = answer.outcome === 'answered' && answer.value.approved;
  return message(isApproved ? `The order ${order} is refunded. ` : `The order ${order} stays as it is. `);
}

function message(content) {
  return { type: 'message', data: { content } };
}
