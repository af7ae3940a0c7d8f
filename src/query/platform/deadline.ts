/**
 * Whether a promise settles in time. Leaves no timer behind.
 *
 * @param time milliseconds
 * @param promise must not reject
 *
 * @example
 * if (!(await settlesWithin(5_000, once(program, 'exit')))) program.kill('SIGKILL');
 */
export async function settlesWithin(time: number, promise: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(resolve, time, false)));
  const isInTime = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer!);
  return isInTime;
}
