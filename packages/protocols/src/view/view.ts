import {
  type ArgumentsHost,
  type CallHandler,
  Controller,
  type ControllerOptions,
  type DynamicModule,
  type ExceptionFilter,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
  type OnModuleInit,
  type Type,
} from '@nestjs/common';
import { type Endpoint, Endpoints, type HostRequest, type ProblemForm } from 'nest-agent-query/protocol';

/** Where a view is, and whose runs it shows. */
export interface ViewOptions {
  /** The `name` of the `QueryModule`. Default: the module without a name. */
  name?: string;
  /** The path of the view, without a global prefix of the host. */
  path?: string;
  /** As in the options of a controller. Default: those of the application. */
  version?: ControllerOptions['version'];
  /** As in the options of a controller. Default: every host. */
  host?: string | string[];
  /** Class decorators of the controller, such as `[UseGuards(MyGuard)]`. Default: none. */
  decorators?: ClassDecorator[];
}

const OPTIONS = Symbol('ViewOptions');

/** The endpoint of the `QueryModule` that a view belongs to. */
@Injectable()
export class View<Options extends ViewOptions = ViewOptions> implements OnModuleInit {
  endpoint!: Endpoint;

  constructor(
    @Inject(OPTIONS) readonly options: Options,
    private readonly endpoints: Endpoints,
  ) {}

  /**
   * The path of the endpoint for the caller of a route: the files of the query are under it.
   *
   * @param route below the path of the view. Default: the path itself
   */
  queryPath(request: HostRequest, route?: string): string | undefined {
    const own = [this.options.path, route].filter(Boolean).join('/');
    return this.endpoint.pathBeside(request, own);
  }

  /** The `QueryModule` may be initialized after the view: its handler may have asynchronous providers. */
  onModuleInit(): void {
    this.endpoint = this.endpoints.of(this.options.name);
  }
}

/** Writes what the routes of a view return, as those of its endpoint. */
@Injectable()
export class ViewInterceptor implements NestInterceptor {
  constructor(private readonly view: View) {}

  intercept(context: ExecutionContext, next: CallHandler) {
    return this.view.endpoint.interceptor.intercept(context, next);
  }
}

/** Answers the refusals of a view as its protocol does. */
@Injectable()
export abstract class ViewFilter implements ExceptionFilter {
  protected abstract readonly form: ProblemForm;

  constructor(private readonly view: View) {}

  catch(error: unknown, host: ArgumentsHost): void {
    this.view.endpoint.filter(this.form).catch(error, host);
  }
}

/**
 * The module of a view.
 *
 * @param module its class
 * @param controller its routes
 */
export function viewModule(
  module: Type,
  controller: Type,
  { path: given, version, host, decorators = [], ...options }: ViewOptions & { path: string },
): DynamicModule {
  const path = given.replace(/^\/+|\/+$/g, '');
  class MountedController extends controller {}
  const all = [...decorators.toReversed(), Controller({ path, version, host } as ControllerOptions)];
  const mounted = Reflect.decorate(all, MountedController) as Type;
  return {
    module,
    controllers: [mounted],
    providers: [Endpoints, View, { provide: OPTIONS, useValue: { path, ...options } }],
  };
}
