import { fileURLToPath } from 'node:url';

/** The folder of the built page. Vite writes it beside the compiled module. */
export const BUILT_PAGE = fileURLToPath(new URL('./page', import.meta.url));
