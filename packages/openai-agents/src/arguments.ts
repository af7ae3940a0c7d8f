/**
 * The arguments of a call, which models write as a text. That may be no JSON.
 *
 * @returns undefined if there are none
 */
export function argumentsOf(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return text === '' ? {} : (JSON.parse(text) as unknown);
  } catch {
    return text;
  }
}
