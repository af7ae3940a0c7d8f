import { type DynamicModule, Module } from '@nestjs/common';
import { viewModule, type ViewOptions } from '../view/view.js';
import { AgUiController } from './ag-ui.controller.js';
import { agUiPaths } from './paths.js';

export type { ViewOptions } from '../view/view.js';

/**
 * Shows the runs of a `QueryModule` to clients of AG-UI 1.0, at `POST /ag-ui`, `GET /ag-ui` and `POST /ag-ui/connect`.
 *
 * @example
 * @Module({ imports: [QueryModule.forRoot({ handler }), AgUiModule.forRoot()] })
 * class AppModule {}
 */
@Module({})
export class AgUiModule {
  /** Returns its routes at the paths of the defaults, after a prefix such as `/api`: the `paths` of an OpenAPI document. */
  static readonly paths = agUiPaths;

  /** @throws {TypeError} an option is unknown */
  static forRoot(options: ViewOptions = {}): DynamicModule {
    return viewModule(AgUiModule, AgUiController, { path: 'ag-ui', ...options });
  }
}
