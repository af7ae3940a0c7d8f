/** What the user wrote as metadata: the session has a meaning for the page, the rest is for the agent. */
export type ReadKwargs =
  { session: string | undefined; others: Record<string, unknown>; fault?: undefined } | { fault: string };

/** Reads the metadata of a query. */
export function readKwargs(text: string): ReadKwargs {
  if (text.trim() === '') return { session: undefined, others: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { fault: `kwargs must be JSON, such as {"temperature": 0.2}. ${(error as Error).message}` };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { fault: 'kwargs must be a JSON object, such as {"temperature": 0.2}.' };
  const { session_id: session, ...others } = value as Record<string, unknown>;
  if (session !== undefined && (typeof session !== 'string' || session === ''))
    return { fault: 'session_id must be a text that is not empty, such as {"session_id": "orders"}.' };
  return { session, others };
}
