import { Module } from '@nestjs/common';
import { AgentModule } from './agent.js';
import { AppController } from './app.controller.js';
import { AppService } from './app.service.js';

@Module({ imports: [AgentModule], controllers: [AppController], providers: [AppService] })
export class AppModule {}
