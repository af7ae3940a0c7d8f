import type { ProgramEnd } from './program.js';

/** What the exit codes mean that a shell itself gives (POSIX, Shell Command Language, 2.8.2). */
const SHELL_CODES: Record<number, string> = {
  126: ', which a shell gives for a program that cannot be executed',
  127: ', which a shell gives for a program that it does not find',
};

/** Why the run of a program fails, for the operator; undefined if the program has ended as it should. */
export function failureOfProgram({ code, signal, lastLines }: ProgramEnd): Error | undefined {
  if (code === 0) return undefined;
  const how = code === null ? `was ended by ${signal}` : `ended with the exit code ${code}${meaningOf(code)}`;
  const why =
    lastLines.length > 0
      ? ` The last lines of its standard error:\n${lastLines.join('\n')}`
      : ' It has written nothing to its standard error.';
  return new Error(`The program ${how}.${why}`);
}

function meaningOf(code: number): string {
  if (code > 128 && code <= 128 + 64)
    return `, which a shell gives for a program that signal ${code - 128} ended`;
  return SHELL_CODES[code] ?? '';
}
