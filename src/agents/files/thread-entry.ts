/** The program of the threads that parse files. It has a file of its own so that tests can run it from its source. */
export const threadEntry = new URL('./thread.js', import.meta.url);
