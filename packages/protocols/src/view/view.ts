import {
  type ArgumentsHost,
  Controller,
  type ControllerOptions,
  type DynamicModule,
  type ExceptionFilter,
  Inject,
  Injectable,
  type OnModuleInit,
  type Type,
} from '@nestjs/common';
import { type Endpoint, Endpoints, type HostRequest, type ProblemForm } from 'nest-agent-query/protocol';
import { refuseUnknown } from 'nest-agent-query/agents';

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

const MEMBERS: Record<keyof ViewOptions, true> = {
  name: true,
  path: true,
  version: true,
  host: true,
  decorators: true,
};

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

/** How a view writes a refusal of a request. */
export type RefusalForm = (
  problem: Parameters<ProblemForm>[0],
  request: HostRequest,
) => ReturnType<ProblemForm>;

/** Answers the refusals of a view as its protocol does. */
@Injectable()
export abstract class ViewFilter implements ExceptionFilter {
  protected abstract readonly form: RefusalForm;

  constructor(private readonly view: View) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<HostRequest>();
    this.view.endpoint.filter((problem) => this.form(problem, request)).catch(error, host);
  }
}

/** Routes of a view beside its path. */
export interface OtherRoutes {
  controller: Type;
  /** @param path that of the view */
  pathBeside: (path: string) => string;
  decorators: ClassDecorator[];
}

/**
 * The module of a view.
 *
 * @param module its class
 * @param controller its routes
 * @param more the names of its `own` options, and `others`: routes that are not below its path. Default: none
 * @throws {TypeError} an option is unknown
 */
export function viewModule(
  module: Type,
  controller: Type,
  given: ViewOptions & { path: string },
  { own = {}, others = [] }: { own?: object; others?: OtherRoutes[] } = {},
): DynamicModule {
  refuseUnknown(module.name, given, { ...MEMBERS, ...own });
  const { version, host, decorators = [], ...options } = given;
  const path = given.path.replace(/^\/+|\/+$/g, '');
  const mountedAt = (at: string, routes: Type, own: ClassDecorator[]) => {
    class MountedController extends routes {}
    const all = [...own.toReversed(), Controller({ path: at, version, host } as ControllerOptions)];
    return Reflect.decorate(all, MountedController) as Type;
  };
  return {
    module,
    controllers: [
      mountedAt(path, controller, decorators),
      ...others.map((each) => mountedAt(each.pathBeside(path), each.controller, each.decorators)),
    ],
    providers: [Endpoints, View, { provide: OPTIONS, useValue: { ...options, path } }],
  };
}
