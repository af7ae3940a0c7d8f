/** Reads the metadata of a query. */
export function kwargsOf(
  text: string,
): { value: Record<string, unknown>; fault?: undefined } | { value?: undefined; fault: string } {
  if (text.trim() === '') return { value: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { fault: `kwargs must be JSON, such as {"temperature": 0.2}. ${(error as Error).message}` };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { fault: 'kwargs must be a JSON object, such as {"temperature": 0.2}.' };
  if ('session_id' in value)
    return { fault: 'Leave out session_id: the page sets it to the id of this conversation.' };
  return { value: value as Record<string, unknown> };
}
