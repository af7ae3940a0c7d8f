const [QUOTE, COMMA, BACKSLASH, NEWLINE, SPACE] = [0x22, 0x2c, 0x5c, 0x0a, 0x20];
/** White space (RFC 8259, 2). */
const BLANK = new Set([0x09, NEWLINE, 0x0d, SPACE]);
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/**
 * Gives each item of an array of JSON a line of its own: the engine reads an array with as much memory as it has bytes, and lines
 * with little. What is wrong in the array is wrong in the lines too.
 *
 * @param chunks the array as UTF-8
 */
export async function* linesOfArray(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let depth = 0;
  let inText = false;
  let isEscaped = false;
  /** Whether there is something since the last comma between items. */
  let hasItem = false;
  const lineByte = (byte: number): number => {
    if (inText) {
      inText = isEscaped || byte !== QUOTE;
      isEscaped = !isEscaped && byte === BACKSLASH;
      return byte;
    }
    if (BLANK.has(byte)) return SPACE;
    if (OPENING.has(byte) && depth++ === 0) return SPACE;
    if (CLOSING.has(byte) && --depth === 0) return NEWLINE;
    if (byte === COMMA && depth === 1 && hasItem) {
      hasItem = false;
      return NEWLINE;
    }
    hasItem = true;
    inText = byte === QUOTE;
    return byte;
  };
  for await (const chunk of chunks) yield chunk.map(lineByte);
  // An array that is cut off between two items would be whole otherwise.
  if (depth > 0) yield Buffer.from('\n[');
}
