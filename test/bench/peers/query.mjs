/** What peers without a validation of their own do with the body of a query. */

const isText = (value) => typeof value === 'string';
const isPart = (part) =>
  typeof part === 'object' &&
  part !== null &&
  (part.type === 'text'
    ? isText(part.text)
    : isText(part.name) && isText(part.mimeType) && isText(part.base64));

/** The plan of a query. Throws if the query is not valid. */
export function planOf(body) {
  const { parts, kwargs } = body;
  if (!Array.isArray(parts) || parts.length === 0 || !parts.every(isPart)) throw new Error('parts');
  if (kwargs !== undefined && typeof kwargs !== 'object') throw new Error('kwargs');
  return parts.find(({ type }) => type === 'text').text;
}

/** The envelope of an event. */
export const message = (content) => ({ type: 'message', data: { content } });
