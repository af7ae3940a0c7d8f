/**
 * Lets the output of this process wait in its memory if its reader does not read. Node would otherwise stop the whole process
 * until a pipe has room again.
 */
export function neverBlock(...outputs: NodeJS.WriteStream[]): void {
  for (const output of outputs) {
    const { _handle: handle } = output as { _handle?: { setBlocking?(isBlocking: boolean): void } };
    handle?.setBlocking?.(false);
  }
}
