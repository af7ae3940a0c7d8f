import type { HttpAdapterHost } from '@nestjs/core';

/**
 * Refuses a module that is loaded when the application serves requests already. Nest registers no routes for it and calls none of
 * its hooks: the endpoint would be missing, and the store would not be recovered.
 *
 * @throws Error with what to do instead
 */
export function refuseLateModule({ listening }: HttpAdapterHost): void {
  if (!listening) return;
  throw new Error(
    'QueryModule cannot be loaded by LazyModuleLoader, because Nest registers no routes for such a module. Import it in a ' +
      'module of the application. Its handler may load other modules lazily.',
  );
}
