/** How the command ends. */
export const EXIT_CODES = { fine: 0, problem: 1, usage: 2, refused: 3, unreachable: 4 } as const;
