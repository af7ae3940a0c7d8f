/** A longer result is cut. The log of a run takes envelopes of 4 Mi characters, and a turn keeps 1 MiB of an answer. */
const RESULT_LENGTH = 256 * 1024;

/**
 * What a tool has returned, as an envelope carries it: a value that JSON can represent, and not longer than callers and
 * histories can take. A result that is too long becomes a text with its beginning.
 *
 * @example
 * yield toolResult(call.id, shownResult(await tool(call.arguments)));
 */
export function shownResult(result: unknown): unknown {
  const json = typeof result === 'string' ? result : jsonOf(result);
  if (json === undefined) return null;
  if (json.length <= RESULT_LENGTH)
    return typeof result === 'string' ? result : (JSON.parse(json) as unknown);
  return `${json.slice(0, RESULT_LENGTH)}… [The result has ${json.length} characters. The rest is left out.]`;
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    // It refers to itself, or has a BigInt.
    return JSON.stringify('The result cannot be shown: JSON cannot represent it.');
  }
}
