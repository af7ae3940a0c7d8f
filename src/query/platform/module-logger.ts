import { Logger } from '@nestjs/common';

/**
 * A logger whose lines say which module they are about.
 *
 * @param module the name of the module; undefined for the module without a name
 */
export function loggerOf(context: string, module: string | undefined): Logger {
  return new Logger(module === undefined ? context : `${context} ${module}`);
}
