/** Whether an error is one of the engine: its messages begin with their kind. */
export function isEngineError(error: unknown): error is Error {
  return (
    error instanceof Error && /^(Failed to extract statements: )?[A-Z][\w -]* Error: /.test(error.message)
  );
}

/** Whether the engine has reached its memory limit. */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && /^Out of Memory Error|failed to allocate/.test(error.message);
}
