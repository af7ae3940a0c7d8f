const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** How long ago a time was, in words. */
export function timeAgo(time: string): string {
  const ms = Date.parse(time) - Date.now();
  if (ms < -7 * 86_400_000) return new Date(time).toLocaleDateString('en', { dateStyle: 'medium' });
  const [unit, length] = UNITS.find(([, each]) => -ms >= each) ?? [];
  return unit ? relative.format(Math.round(ms / length!), unit) : 'just now';
}

/** How long it is until a time, in words; undefined if it is over. */
export function timeUntil(time: string): string | undefined {
  const ms = Date.parse(time) - Date.now();
  if (ms <= 0) return undefined;
  const [unit, length] = UNITS.find(([, each]) => ms >= each) ?? [];
  return unit ? relative.format(Math.round(ms / length!), unit) : 'in less than a minute';
}

/** A value as JSON for people; a text as it is. */
export function shownJson(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
}

/** The name of a file without marks that turn the direction of text: they would hide its type. */
export function readableName(name: string): string {
  return name.replace(/\p{Bidi_C}/gu, '_');
}

/** Bytes in words. */
export function sizeOf(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const [unit, length] = bytes < 1e6 ? ['kB', 1e3] : bytes < 1e9 ? ['MB', 1e6] : ['GB', 1e9];
  return `${(bytes / Number(length)).toFixed(bytes / Number(length) < 10 ? 1 : 0)} ${unit}`;
}

export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}

/** What models have used, in words. */
export function tokensOf({
  inputTokens,
  outputTokens,
}: {
  inputTokens: number;
  outputTokens: number;
}): string {
  return `${counted(inputTokens, 'token')} in, ${counted(outputTokens, 'token')} out`;
}
