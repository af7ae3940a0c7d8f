import type { Type } from '@nestjs/common';

/**
 * Applies the option `decorators` of a module to its controller, in the order of the list. A decorator may return another class in
 * place of the one that it gets.
 *
 * @param module the name of the module, for the error
 * @throws {TypeError} the option is no array of functions
 */
export function decorated<T extends Type>(module: string, controller: T, decorators: unknown = []): T {
  if (!Array.isArray(decorators) || decorators.some((each) => typeof each !== 'function'))
    throw new TypeError(
      `${module}: the option "decorators" must be an array of class decorators, such as [UseGuards(MyGuard)].`,
    );
  return (decorators as ClassDecorator[]).reduce<T>((type, decorate) => decorate(type) ?? type, controller);
}
