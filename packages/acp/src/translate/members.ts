/** The members of an object. An agent may send anything: of any other value there are none. */
export function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

/** A text with at least one character; undefined for any other value. */
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The first items of an array, `most` of them; none of any other value. */
export function itemsOf(value: unknown, most: number): unknown[] {
  return Array.isArray(value) ? (value as unknown[]).slice(0, most) : [];
}
