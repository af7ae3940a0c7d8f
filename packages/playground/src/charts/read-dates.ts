const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const MONTH =
  '(?<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\\.?';
const TIME = '(?:[T ](?<hour>\\d\\d):(?<minute>\\d\\d)(?::(?<second>\\d\\d)(?:\\.\\d+)?)?(?:Z|\\+00:?00)?)?';

/** How dates are written. In a column all have the same form. */
const FORMS = [
  `(?<year>\\d{4})[-/](?<month>\\d\\d)[-/](?<day>\\d\\d)${TIME}`,
  '(?<year>\\d{4})-(?<month>\\d\\d)',
  '(?<year>\\d{4})[- ]?Q(?<quarter>[1-4])',
  'Q(?<quarter>[1-4])[ /-](?<year>\\d{4})',
  `(?<day>\\d\\d?)\\.(?<month>\\d\\d?)\\.(?<year>\\d{4})${TIME}`,
  // With a slash, the day may be the first or the second number.
  `(?<day>\\d\\d?)/(?<month>\\d\\d?)/(?<year>\\d{4})${TIME}`,
  `(?<month>\\d\\d?)/(?<day>\\d\\d?)/(?<year>\\d{4})${TIME}`,
  `${MONTH} (?<year>\\d{4})`,
  `(?<day>\\d\\d?)\\.? ${MONTH} (?<year>\\d{4})`,
  `${MONTH} (?<day>\\d\\d?), (?<year>\\d{4})`,
].map((form) => new RegExp(`^${form}$`, 'i'));

/**
 * Reads a column of dates as they are shown.
 *
 * @returns milliseconds in UTC; undefined if they are no dates, or could be of several forms, such as `03/04/2026`
 */
export function readDates(texts: string[]): number[] | undefined {
  const readings = FORMS.flatMap((form) => {
    const times = texts.map((text) => timeOf(form, text));
    return times.every((time) => time !== undefined) ? [times] : [];
  });
  return readings.length === 1 ? readings[0] : undefined;
}

/** Reads a column of years. @returns milliseconds in UTC; undefined if one is none from 1800 to 2199 */
export function readYears(texts: string[]): number[] | undefined {
  if (!texts.every((text) => /^(?:18|19|20|21)\d\d$/.test(text))) return undefined;
  return texts.map((text) => Date.UTC(Number(text), 0));
}

function timeOf(form: RegExp, text: string): number | undefined {
  const found = form.exec(text)?.groups;
  if (!found) return undefined;
  const { year, name, quarter, month = '1', day = '1', hour = '0', minute = '0', second = '0' } = found;
  const at =
    name !== undefined
      ? MONTHS.indexOf(name.slice(0, 3).toLowerCase())
      : quarter !== undefined
        ? (Number(quarter) - 1) * 3
        : Number(month) - 1;
  const date = new Date(
    Date.UTC(Number(year), at, Number(day), Number(hour), Number(minute), Number(second)),
  );
  // The 31st of February would be a day of March.
  const isReal =
    date.getUTCMonth() === at && date.getUTCDate() === Number(day) && date.getUTCHours() === Number(hour);
  return isReal ? date.getTime() : undefined;
}
