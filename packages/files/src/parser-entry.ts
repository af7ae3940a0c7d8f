/** The program of the processes that parse files. It has a file of its own so that tests can run it from its source. */
export const parserEntry = new URL('./parser-process.js', import.meta.url);
