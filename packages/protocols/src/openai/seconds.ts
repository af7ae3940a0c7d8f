/** A time in seconds since the epoch. */
export const secondsOf = (time: string): number => Math.floor(Date.parse(time) / 1000);
