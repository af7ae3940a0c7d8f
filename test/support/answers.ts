import type { InputAnswer } from '../../src/index.js';
import { request } from './client.js';

/** Answers what a run asks, without following it. */
export async function answer(
  base: string,
  runId: string,
  ...answers: InputAnswer[]
): Promise<{ status: number; body: Record<string, unknown> }> {
  const reply = await request(base, { path: `/query/${runId}/inputs` }, JSON.stringify({ answers }));
  return { status: reply.status, body: await reply.json() };
}
