/** Replaces `src/agents/files/thread-entry.ts`, which names the compiled program: tests run it from its source. */
export const threadEntry = new URL('./parser-thread.mjs', import.meta.url);
