import type { JsonValue } from './engine.js';
import { matches, reader, whole } from './reading.js';
import type { Reading } from './reading.js';

const DATE = /(\d{4})-(\d\d)-(\d\d)/;
const TIME =
  /(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?(Z|[+-](?:0\d|1[0-4]):?[0-5]\d)?)?)?/;
const TIME_IN_UTC = new RegExp(TIME.source.replace('[+-](?:0\\d|1[0-4]):?[0-5]\\d', '[+-]00:?00'));
/** Characters of a date and time that has neither an offset nor parts of a second. */
const WITHOUT_OFFSET = 19;
const TIME_OF_DAY = /([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,6}))?)?/;
/** A time of day after a date that is not of ISO 8601. */
const CLOCK = /([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?(?: ?([AaPp])[Mm])?/;
const CLOCK_FORMATS = ['%H:%M', '%H:%M:%S', '%I:%M %p', '%I:%M%p', '%I:%M:%S %p', '%I:%M:%S%p'];
const IS_CLOCK = whole(CLOCK);
const HALF_DAY = /(?:0?[1-9]|1[0-2]):[0-5]\d(?::[0-5]\d)? ?[AaPp][Mm]/;
const HALF_DAY_FORMATS = CLOCK_FORMATS.filter((format) => format.includes('%p'));

const MONTHS = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
];
const MONTH = MONTHS.flatMap((name) => [name, name.slice(0, 3)])
  .flatMap((name) => [name, name.toUpperCase(), name.toLowerCase()])
  .join('|');

/** A way to write a day that is not that of ISO 8601. */
interface DayForm {
  /** What its types have behind `date` and `date and time`. */
  suffix: string;
  /** The year, the month and the day are its groups, in the order. */
  pattern: RegExp;
  order: string;
  formats: string[];
}

// All digits of the year: `1.2.3` is a version, and `03/04/24` says too little.
const FORMS: DayForm[] = [
  {
    suffix: '',
    pattern: /(\d{4})(?:\/(\d\d?)\/|\.(\d\d?)\.)(\d\d?)/,
    order: 'ymd',
    formats: ['%Y/%m/%d', '%Y.%m.%d'],
  },
  {
    suffix: '',
    pattern: /(\d{4})年(\d\d?)月(\d\d?)日/,
    order: 'ymd',
    formats: ['%Y年%m月%d日'],
  },
  {
    suffix: '',
    pattern: new RegExp(`(\\d\\d?)(?:-(${MONTH})-| (${MONTH}) )(\\d{4})`),
    order: 'dmy',
    formats: ['%d-%b-%Y', '%d %b %Y', '%d-%B-%Y', '%d %B %Y'],
  },
  {
    suffix: '',
    pattern: new RegExp(`(${MONTH}) (\\d\\d?),? (\\d{4})`),
    order: 'mdy',
    formats: ['%b %d %Y', '%b %d, %Y', '%B %d %Y', '%B %d, %Y'],
  },
];
const MONTH_FIRST: DayForm = {
  suffix: ' (month first)',
  pattern: /(\d\d?)(?:\/(\d\d?)\/|-(\d\d?)-)(\d{4})/,
  order: 'mdy',
  formats: ['%m/%d/%Y', '%m-%d-%Y'],
};
const DAY_FIRST: DayForm = {
  suffix: ' (day first)',
  pattern: /(\d\d?)(?:\/(\d\d?)\/|\.(\d\d?)\.|-(\d\d?)-)(\d{4})/,
  order: 'dmy',
  formats: ['%d/%m/%Y', '%d.%m.%Y', '%d-%m-%Y'],
};

/** How dates and times are read. */
export const TIMES: Reading[] = [
  {
    label: 'date',
    test: (v) => `(${matches(v, DATE)} and try_cast(${v} as date) is not null)`,
    value: (v) => `try_cast(${v} as date)`,
    read: reader(DATE, ([, year, month, day]) => dateOf(year!, month!, day!)),
  },
  timesIn(TIME_IN_UTC),
  { ...timesIn(TIME), note: 'times with an offset are shown in UTC' },
  {
    label: 'time',
    test: (v) => matches(v, TIME_OF_DAY),
    value: (v) => `try_cast(${v} as time)`,
    read: reader(TIME_OF_DAY, ([, hour, minute, second = '00', parts = '']) => {
      const fraction = parts.replace(/0+$/, '');
      return `${hour!.padStart(2, '0')}:${minute}:${second}${fraction === '' ? '' : `.${fraction}`}`;
    }),
  },
  {
    label: 'time',
    test: (v) => `(${matches(v, HALF_DAY)} and ${parsedBy(HALF_DAY_FORMATS)(v)} is not null)`,
    value: (v) => `cast(${parsedBy(HALF_DAY_FORMATS)(v)} as time)`,
    read: reader(HALF_DAY, ([v]) => clockOf(v)),
  },
  ...FORMS.flatMap((form) => [dateIn(form), dateAndTimeIn(form)]),
  ...[dateIn, dateAndTimeIn].flatMap((reading) => {
    const monthFirst = reading(MONTH_FIRST);
    return [{ ...reading(DAY_FIRST), rival: monthFirst }, monthFirst];
  }),
];

function timesIn(pattern: RegExp): Reading {
  return {
    label: 'date and time',
    test: (v) => `(${matches(v, pattern)} and try_cast(${v} as timestamp) is not null)`,
    // In UTC. The engine takes several times as long for values that may have an offset.
    value: (v) =>
      `case when length(${v}) > ${WITHOUT_OFFSET} then timezone('UTC', try_cast(${v} as timestamptz)) ` +
      `else try_cast(${v} as timestamp) end`,
    read: reader(pattern, timeOf),
  };
}

function dateIn({ suffix, pattern, order, formats }: DayForm): Reading {
  const parsed = parsedBy(formats);
  return {
    label: `date${suffix}`,
    test: (v) => `(${matches(v, pattern)} and ${parsed(v)} is not null)`,
    value: (v) => `cast(${parsed(v)} as date)`,
    read: reader(pattern, (match) => dayOf(match, order)),
  };
}

function dateAndTimeIn({ suffix, pattern, order, formats }: DayForm): Reading {
  const parsed = parsedBy(
    formats.flatMap((day) => [day, ...CLOCK_FORMATS.map((clock) => `${day} ${clock}`)]),
  );
  const both = new RegExp(`(?:${pattern.source})(?: ${CLOCK.source})?`);
  const isDay = whole(pattern);
  return {
    label: `date and time${suffix}`,
    test: (v) => `(${matches(v, both)} and ${parsed(v)} is not null)`,
    value: parsed,
    read: reader(both, ([v]) => {
      const [, day, clock = '00:00'] = /^(.*?)(?: (\d\d?:.*))?$/.exec(v)!;
      const [date, time] = [dayOf(isDay.exec(day!)!, order), clockOf(clock)];
      return date === undefined || time === undefined ? undefined : `${date} ${time}`;
    }),
  };
}

function parsedBy(formats: string[]): (v: string) => string {
  return (v) => `try_strptime(${v}, [${formats.map((format) => `'${format}'`).join(', ')}])`;
}

function dayOf(match: RegExpExecArray, order: string): string | undefined {
  const parts = match.slice(1).filter((group) => group !== undefined);
  const [year, month, day] = ['y', 'm', 'd'].map((part) => parts[order.indexOf(part)]!);
  const named = MONTHS.findIndex((name) => name.toLowerCase().startsWith(month!.toLowerCase()));
  return dateOf(year!, named < 0 ? month! : String(named + 1), day!);
}

/** A time of day as `13:05:00`; undefined if there is no such time. */
function clockOf(clock: string): string | undefined {
  const [, hour, minute, second = '00', half] = IS_CLOCK.exec(clock)!;
  const hours = Number(hour);
  if (half !== undefined && (hours < 1 || hours > 12)) return undefined;
  const inDay = half === undefined ? hours : (hours % 12) + (half.toLowerCase() === 'p' ? 12 : 0);
  return `${String(inDay).padStart(2, '0')}:${minute}:${second}`;
}

/** ISO 8601; undefined if there is no such day. */
function dateOf(year: string, month: string, day: string): string | undefined {
  const text = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text) ? text : undefined;
}

function timeOf(match: RegExpExecArray): JsonValue | undefined {
  const [, year, month, day, hour = '00', minute = '00', second = '00', parts = '', offset = 'Z'] = match;
  const date = dateOf(year!, month!, day!);
  const isEndOfDay = hour === '24' && Number(minute) === 0 && Number(second) === 0 && Number(parts) === 0;
  if (date === undefined || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (Number(hour) > 23 && !isEndOfDay) return undefined;
  const minutes = Number(hour) * 60 + Number(minute) - minutesOf(offset);
  const time = new Date(Date.parse(`${date}T00:00:00Z`) + (minutes * 60 + Number(second)) * 1000);
  const fraction = parts.slice(0, 6).replace(/0+$/, '');
  return `${time.toISOString().slice(0, 19).replace('T', ' ')}${fraction === '' ? '' : `.${fraction}`}`;
}

function minutesOf(offset: string): number {
  if (offset === 'Z') return 0;
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(-2));
  return offset.startsWith('-') ? -minutes : minutes;
}
