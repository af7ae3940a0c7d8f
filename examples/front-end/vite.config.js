import { defineConfig } from 'vite';

/** While you develop, Vite serves the page, and passes the rest on to the server. */
const server = 'http://127.0.0.1:8080';

export default defineConfig({
  server: {
    proxy: { '/ai': server, '/query': server, '/login': server, '/logout': server, '/user': server },
  },
});
