/** Why a turn ends before the agent has said everything, by the reason that the agent gives. */
const NOTES = new Map<unknown, string>([
  ['max_tokens', 'The answer ends here because it has reached the limit of its length'],
  ['max_turn_requests', 'The agent has ended after the last step that it may do.'],
  ['refusal', 'The agent refuses to answer, and does not remember this query.'],
  ['cancelled', 'The agent has ended its turn.'],
]);

/** What callers are told of an early end; undefined for any other end, also one that is not known. */
export function noteOfEnd(stopReason: unknown): string | undefined {
  return NOTES.get(stopReason);
}
