import { Module } from '@nestjs/common';
import { QueryModule } from 'nest-agent-query';
import { LibraryHandler } from './library.handler.js';
import { LibraryModule } from './library.js';

@Module({
  imports: [QueryModule.forRoot({ handler: LibraryHandler, imports: [LibraryModule] })],
})
export class AppModule {}
