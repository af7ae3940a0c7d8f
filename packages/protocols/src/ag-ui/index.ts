import { type DynamicModule, Module } from '@nestjs/common';
import { viewModule, type ViewOptions } from '../view/view.js';
import { AgUiController } from './ag-ui.controller.js';
import { AG_UI_PATHS } from './paths.js';

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
  /** Its routes, as they are by default, for the `paths` of an OpenAPI document. */
  static readonly paths = AG_UI_PATHS;

  /** @throws {TypeError} an option is unknown */
  static forRoot(options: ViewOptions = {}): DynamicModule {
    return viewModule(AgUiModule, AgUiController, { path: 'ag-ui', ...options });
  }
}
