/** Whether a promise that does not reject settles within so many milliseconds. Leaves no timer behind. */
export async function settlesWithin(time: number, promise: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(resolve, time, false)));
  const isInTime = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer!);
  return isInTime;
}
