/**
 * The key of a question about a call of a tool: the id of the call, with a number if the run has used that key before. Some models
 * number their calls from the beginning in each answer, and an approval must not be taken for another call.
 *
 * @param taken the keys that the run has used before. They belong into its checkpoints, so that another attempt has the same keys
 *
 * @example
 * const key = questionKey(call.id, asked); // 'call_0', then 'call_0:2'
 */
export function questionKey(id: string, taken: readonly string[]): string {
  for (let number = 2, key = id; ; key = `${id}:${number++}`) if (!taken.includes(key)) return key;
}
