import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CODE_FOLDER } from './code-folder.cjs';

/** The program of the processes that parse files. It has a file of its own so that tests can run it from its source. */
export const parserEntry = pathToFileURL(join(CODE_FOLDER, 'parser-process.js'));
