/** A time as `2026-11-21 13:50:53`, in the time zone of the user. */
export function localTime(time: string): string {
  return new Date(time).toLocaleString('sv-SE');
}
