import { join } from 'node:path';
import { defineConfig } from 'vite';

const at = (path) => join(import.meta.dirname, path);
const pages = ['ai-sdk', 'assistant-ui', 'use-object'];

export default defineConfig({
  root: at('pages'),
  base: '/pages/',
  resolve: {
    // What this repository has built.
    alias: { 'nest-agent-query-client': at('../../../packages/client/dist/browser.js') },
  },
  build: {
    outDir: at('dist'),
    emptyOutDir: true,
    rolldownOptions: { input: pages.map((name) => at(`pages/${name}.html`)) },
  },
});
