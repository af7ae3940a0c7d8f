import { isApproved, message, type Query, type QueryContext } from '../../../src/index.js';
import { ask, cancel, follow, get, request, FULL } from '../../support/client.js';
import { type Host, startAgent } from '../../support/host.js';

async function* refunds(_: Query, context: QueryContext) {
  yield message('Let me see. ');
  const [answer] = await context.ask([
    { key: 'refund-881', kind: 'approval', message: 'Refund?', toolCallId: 'call_9', name: 'refund', arguments: { amount: 120 }, editable: true },
  ]);
  yield message(isApproved(answer) ? 'Refunded.' : 'Not refunded.');
}

describe('asking', () => {
  let host: Host;
  afterEach(() => host.close());
  it('asks', async () => {
    host = await startAgent('express', refunds);
    const asked = await ask(host.url, 'hi', { headers: FULL, kwargs: { session_id: 's' } });
    await asked.until('input_required');
    console.log(asked.text, await (await get(host.url, `/query/${asked.runId}`)).whole(), host.agent.load());
    console.log(await (await get(host.url, `/query/${asked.runId}/inputs`)).whole());
    console.log(await (await get(host.url, `/query/inputs`)).whole());
    const bad = await request(host.url, { path: `/query/${asked.runId}/inputs` }, JSON.stringify({ answers: [{ id: 'refund-881', outcome: 'answered', value: { approved: 'x' } }] }));
    console.log(bad.status, await bad.whole());
    const ok = await request(host.url, { path: `/query/${asked.runId}/inputs`, headers: FULL }, JSON.stringify({ answers: [{ id: 'refund-881', outcome: 'answered', value: { approved: true } }] }));
    console.log(ok.status, await ok.whole());
    console.log(await asked.whole());
    const again = await request(host.url, { path: `/query/${asked.runId}/inputs` }, JSON.stringify({ answers: [{ id: 'refund-881', outcome: 'answered', value: { approved: true } }] }));
    console.log(again.status, await again.whole());
    const other = await request(host.url, { path: `/query/${asked.runId}/inputs` }, JSON.stringify({ answers: [{ id: 'refund-881', outcome: 'declined' }] }));
    console.log(other.status, await other.whole());
    console.log(await (await get(host.url, `/query/sessions/s`)).whole());
    const second = await ask(host.url, 'hi', { headers: FULL, kwargs: { session_id: 's' } });
    await second.until('input_required');
    const third = await ask(host.url, 'hi', { headers: FULL, kwargs: { session_id: 's' } });
    await third.until('input_required');
    console.log(await second.whole());
    await cancel(host.url, third.runId);
    console.log(await third.whole());
    void follow;
  });
});
