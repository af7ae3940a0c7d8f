import { join } from 'node:path';
import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  base: '/pages/',
  build: {
    outDir: join(import.meta.dirname, 'dist'),
    emptyOutDir: true,
    rolldownOptions: { input: join(import.meta.dirname, 'page.html') },
  },
});
