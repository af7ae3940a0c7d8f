import {
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  Injectable,
  Module,
  type NestInterceptor,
  UseGuards,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { ApiTags } from '@nestjs/swagger';
import { Throttle, ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import {
  AgentHandler,
  AgentService,
  InjectAgent,
  MemoryRunStore,
  message,
  type Query,
  QueryModule,
} from 'nest-agent-query';
import { ClsModule, ClsService } from 'nestjs-cls';

interface Caller {
  headers: Record<string, string | undefined>;
}

/** Says who asks, as the context of its request knows it, and what it got. */
@Injectable()
export class EchoHandler extends AgentHandler {
  constructor(private readonly context: ClsService) {
    super();
  }

  async *handle({ parts }: Query) {
    yield message(`To ${this.context.get<string>('user')}: `);
    for (const part of parts) {
      yield message(part.type === 'text' ? part.text : `${part.name} has ${part.file.size} bytes. `);
    }
  }
}

@Injectable()
export class UserGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return context.switchToHttp().getRequest<Caller>().headers['x-user'] !== undefined;
  }
}

@Injectable()
export class CountingInterceptor implements NestInterceptor {
  static calls = 0;

  intercept(_: ExecutionContext, next: CallHandler) {
    CountingInterceptor.calls++;
    return next.handle();
  }
}

@Injectable()
export class Desk {
  constructor(
    readonly agent: AgentService,
    @InjectAgent('guarded') readonly guarded: AgentService,
  ) {}
}

const owner = ({ headers }: Caller) => headers['x-user'];
const store = new MemoryRunStore();

@Module({
  imports: [
    ClsModule.forRoot({
      global: true,
      middleware: {
        mount: true,
        setup: (context, caller: Caller) => context.set('user', caller.headers['x-user'] ?? 'nobody'),
      },
    }),
    ThrottlerModule.forRoot([{ ttl: 60_000, limit: 1_000 }]),
    QueryModule.forRoot({ handler: EchoHandler, owner, store, decorators: [ApiTags('agent')] }),
    QueryModule.forRoot({
      name: 'guarded',
      path: 'guarded',
      handler: EchoHandler,
      owner,
      store,
      decorators: [
        UseGuards(UserGuard, ThrottlerGuard),
        Throttle({ default: { ttl: 60_000, limit: 2 } }),
        ApiTags('guarded'),
      ],
    }),
  ],
  providers: [Desk, { provide: APP_INTERCEPTOR, useClass: CountingInterceptor }],
})
export class AgentModule {}
