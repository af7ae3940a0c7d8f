/**
 * The folder of this package's compiled code. This is a CommonJS file because `import.meta` is a syntax error where a host's Jest
 * compiles the package to CommonJS, and `__dirname` works everywhere.
 */
export const CODE_FOLDER = __dirname;
