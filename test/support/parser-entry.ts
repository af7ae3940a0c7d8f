/** Replaces `packages/files/src/parser-entry.ts`: Node executes the compiled program, because Jest compiles only for itself. */
export const parserEntry = new URL('../../packages/files/dist/parser-process.js', import.meta.url);
