import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Builds the page beside the compiled module that serves it. Its addresses are relative: it may be mounted anywhere. */
export default defineConfig({
  root: pathOf('./src'),
  base: './',
  publicDir: false,
  logLevel: 'warn',
  build: {
    outDir: pathOf('../../dist/playground/page'),
    emptyOutDir: true,
    target: 'es2023',
    // The content security policy allows no script in the HTML.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
});
