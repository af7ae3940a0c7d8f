/** How a format shows a number: as one of these, or with at least so many digits; undefined if as it is. */
export type NumberForm = 'date' | 'time' | 'duration' | number | undefined;

/** Characters of a format, as the programs limit it. The expressions below take time with the square of this number. */
const LONGEST_FORMAT = 255;

/** What a number format shows, by its letters outside of quotes, escapes, colours and conditions. */
export function formOf(format: string): NumberForm {
  const bare = format
    .slice(0, LONGEST_FORMAT)
    .replace(/"[^"]*"|\\.|_.|\*./g, '')
    .replace(/\[(?!(h+|m+|s+)\])[^\]]*\]/gi, '')
    .replace(/am\/pm|a\/p/gi, '');
  const [, zeros] = /^(0{2,})(;|$)/.exec(bare) ?? [];
  if (zeros) return zeros.length;
  if (/general/i.test(bare)) return undefined;
  if (/\[[hms]+\]/i.test(bare)) return 'duration';
  if (/[dyb]|mmm/i.test(bare)) return 'date';
  if (/[hs]/i.test(bare)) return 'time';
  return /m/i.test(bare) ? 'date' : undefined;
}

/** Days up to which a number with a format for times is no date: nobody means a time in the year 1900. */
const FIRST_YEAR = 366;
const LAST_DAY = 2_958_466;

/** A number of a sheet in its form. Programs show 15 digits of a number, and a double may have 17. */
export function numberText(value: number, form: NumberForm, from1904: boolean): string | null {
  if (!Number.isFinite(value)) return null;
  const isClock = form === 'duration' || (form === 'time' && value < FIRST_YEAR);
  if (isClock && Math.abs(value) < LAST_DAY) return clock(value * 86_400);
  const date = form === 'date' || form === 'time' ? isoDate(value, from1904) : undefined;
  if (date !== undefined) return date;
  // Digits only would be those of an identifier.
  if (Math.abs(value) >= 2 ** 63) return value.toExponential();
  const text = Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(15)));
  return typeof form === 'number' && /^\d+$/.test(text) ? text.padStart(form, '0') : text;
}

/** Seconds as `30:05:00` or `-00:00:01.5`. */
function clock(seconds: number): string {
  const milliseconds = Math.round(Math.abs(seconds) * 1000);
  const parts = [3_600_000, 60_000, 1000].map((unit, index) => {
    const part = Math.floor(milliseconds / unit);
    return String(index === 0 ? part : part % 60).padStart(2, '0');
  });
  const rest = milliseconds % 1000 === 0 ? '' : String((milliseconds % 1000) / 1000).slice(1);
  return `${seconds < 0 && milliseconds > 0 ? '-' : ''}${parts.join(':')}${rest}`;
}

/** The number of a day as `2024-02-29`, with the time if it has one; undefined if there is no such day. */
function isoDate(serial: number, from1904: boolean): string | undefined {
  if (serial < 0 || serial >= LAST_DAY) return undefined;
  // Day 60 is 29 February 1900, which did not exist: the days before it have numbers that are smaller by one.
  const epoch = from1904 ? 24_107 : serial < 60 ? 25_568 : 25_569;
  const iso = new Date(Math.round((serial - epoch) * 86_400) * 1000).toISOString();
  return serial % 1 === 0 ? iso.slice(0, 10) : iso.slice(0, 19).replace('T', ' ');
}
