/** Replaces `src/agents/files/parser-entry.ts`, which names the compiled program: tests run it from its source. */
export const parserEntry = new URL('./parser-process.mjs', import.meta.url);
