/**
 * The copy of the framework that CommonJS modules get. This is a CommonJS file because `import.meta` is a syntax error where a
 * host's Jest compiles the package to CommonJS, and `require` works everywhere.
 */
export function requiredFramework(): unknown {
  return require('@openai/agents');
}
