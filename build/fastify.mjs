import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { licences } from './licences.mjs';

/**
 * Builds the HTTP adapter of the standalone service, with Fastify, into `dist/fastify`. As a dependency or a peer, npm
 * would warn of it, or refuse it, in hosts with another version of Nest.
 */
await build({
  input: fileURLToPath(new URL('adapter.mjs', import.meta.url)),
  platform: 'node',
  // The agents of the service share these. What the adapter takes from `@nestjs/common/internal` does not exist in Nest 11.
  external: ['@nestjs/common', '@nestjs/core', /^rxjs/, /^@fastify\/(multipart|static|view)$/],
  treeshake: { moduleSideEffects: (id) => !/@nestjs.(common|core)/.test(id) },
  plugins: [licences('LICENSES.txt')],
  output: {
    file: fileURLToPath(new URL('../dist/fastify/adapter.js', import.meta.url)),
    codeSplitting: false,
    comments: { legal: true },
  },
});
