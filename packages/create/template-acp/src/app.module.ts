import { Module } from '@nestjs/common';
import { QueryModule } from 'nest-agent-query';
import { PlaygroundModule } from 'nest-agent-query/playground';
import { openStore } from 'nest-agent-query/stores';
import { HealthController } from 'nest-agent-query/telemetry';
import { codingAgent } from './coding-agent.js';

@Module({
  imports: [
    // POST /query, and the runs and sessions below it.
    QueryModule.forRootAsync({
      useFactory: async () => ({
        handler: await codingAgent(process.env),
        store: await openStore(process.env.DATABASE_URL || 'file:./data/agent.db'),
      }),
    }),
    // The page to try it, and to approve what the agent wants to do: /playground.
    PlaygroundModule.forRoot({ name: 'Coding agent' }),
  ],
  // /health/live and /health/ready.
  controllers: [HealthController],
})
export class AppModule {}
