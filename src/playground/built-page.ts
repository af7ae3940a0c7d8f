import { join } from 'node:path';
import { CODE_FOLDER } from '../query/index.js';

/** The folder of the built page. Vite writes it beside the compiled module. */
export const BUILT_PAGE = join(CODE_FOLDER, 'playground/page');
