import { Logger } from '@nestjs/common';

/** A logger whose lines say which module they are about. The `module` without a name is undefined. */
export function loggerOf(context: string, module: string | undefined): Logger {
  return new Logger(module === undefined ? context : `${context} ${module}`);
}
