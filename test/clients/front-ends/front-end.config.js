import { join } from 'node:path';
import { defineConfig } from 'vite';

const at = (path) => join(import.meta.dirname, path);
const packages = ['ai', '@ai-sdk/react', 'react', 'react-dom'];

/** The page of `examples/front-end` as it is, with the AI SDK 7. */
export default defineConfig({
  root: at('../../../examples/front-end'),
  resolve: { alias: Object.fromEntries(packages.map((name) => [name, at(`node_modules/${name}`)])) },
  build: { outDir: at('dist/front-end'), emptyOutDir: true },
});
