import { Module } from '@nestjs/common';
import { QueryModule } from 'nest-agent-query';
import { PlaygroundModule } from 'nest-agent-query/playground';
import { openStore } from 'nest-agent-query/stores';
import { HealthController } from 'nest-agent-query/telemetry';
import { orderAgent } from './order-agent.js';
import { modelFrom } from './model.js';
import { Orders, OrdersModule } from './orders.js';

@Module({
  imports: [
    // POST /query, and the runs and sessions below it.
    QueryModule.forRootAsync({
      imports: [OrdersModule],
      inject: [Orders],
      useFactory: async (orders: Orders) => ({
        handler: orderAgent(modelFrom(process.env), orders),
        store: await openStore(process.env.DATABASE_URL || 'file:./data/agent.db'),
      }),
    }),
    // The page to try it: /playground.
    PlaygroundModule.forRoot({ name: 'Orders' }),
  ],
  // /health/live and /health/ready.
  controllers: [HealthController],
})
export class AppModule {}
