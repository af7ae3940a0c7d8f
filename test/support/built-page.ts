import { join } from 'node:path';
import { ROOT } from './documents.js';

/** Jest executes the sources, and beside them is the source of the page. */
export const BUILT_PAGE = join(ROOT, 'dist/playground/page');
