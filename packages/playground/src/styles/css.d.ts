/** Vite loads the styles with the module that imports them. */
declare module '*.css';
