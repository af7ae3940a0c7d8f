/** What `fastify.mjs` builds. By its name: the adapter of Nest 11 is CommonJS. */
export { FastifyAdapter } from '@nestjs/platform-fastify/adapters/fastify-adapter.js';
