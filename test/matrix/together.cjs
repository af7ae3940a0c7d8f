/** A host of Nest 11 in CommonJS, as `other-versions.mjs` starts it. */
require('reflect-metadata');
const console = require('node:console');
const process = require('node:process');
const { Module, UseGuards } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { message, QueryModule } = require('nest-agent-query');
const {
  AccessGuard,
  AccessModule,
  createApiKey,
  ownerOf,
  RateLimitGuard,
  RateLimitModule,
} = require('nest-agent-query/access');
const { PlaygroundModule } = require('nest-agent-query/playground');
const { openStore } = require('nest-agent-query/stores');
const { MetricsModule, QueryMetrics } = require('nest-agent-query/telemetry');

const { key, configured } = createApiKey('ann');

const module_ = (name, url) =>
  QueryModule.forRootAsync({
    name,
    path: name,
    listeners: [QueryMetrics],
    decorators: [UseGuards(AccessGuard, RateLimitGuard)],
    useFactory: async () => ({
      async *handler() {
        yield message(name);
      },
      owner: ownerOf,
      store: await openStore(url),
    }),
  });

class AppModule {}
Module({
  imports: [
    AccessModule.forRoot({ keys: [configured] }),
    RateLimitModule.forRoot({ queriesPerMinute: 60 }),
    MetricsModule.forRoot(),
    PlaygroundModule.forRoot({ endpoint: ['research', 'support'] }),
    module_('research', process.env.FILE_URL),
    module_('support', process.env.POSTGRES_URL),
  ],
})(AppModule);

async function start() {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'], abortOnError: false });
  app.enableShutdownHooks();
  await app.listen(0, '127.0.0.1');
  console.log(`LISTENS ${await app.getUrl()} ${key}`);
}
void start();
