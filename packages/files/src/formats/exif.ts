import type { ExpandedTags } from 'exifreader';
import { code } from '../markdown.js';

const LONGEST_TEXT = 200;
const LABELS = {
  LensModel: 'Lens',
  ImageDescription: 'Description',
  Artist: 'Artist',
  Copyright: 'Copyright',
};
/** Further values are not decoded: one may be as long as the file. */
const READ = [
  ...['Make', 'Model', 'DateTime', 'DateTimeOriginal', 'ExposureTime', 'FNumber', 'FocalLength'],
  ...['ISOSpeedRatings', ...Object.keys(LABELS)],
];

/** Where and with what a picture was taken, as sentences, from its EXIF block; none if it has none, or a broken one. */
export async function exifFacts(picture: Uint8Array): Promise<string[]> {
  const { default: ExifReader } = await import('exifreader');
  try {
    const includeTags = { exif: READ, gps: true } as const;
    return sentencesOf(
      ExifReader.load(Buffer.from(picture), { expanded: true, computed: true, includeTags }),
    );
  } catch {
    return [];
  }
}

function sentencesOf({ exif, gps }: ExpandedTags): string[] {
  const tags = { ...exif } as Record<string, { value: unknown; computed?: unknown } | undefined>;
  const texts = (tag: string) => {
    const [text] = [tags[tag]?.value].flat();
    return typeof text === 'string' && text.trim() !== '' ? [text.trim()] : [];
  };
  const numbers = (tag: string) => {
    const [number] = [tags[tag]?.computed].flat();
    return typeof number === 'number' && number > 0 && Number.isFinite(number) ? [number] : [];
  };
  const camera = [...texts('Make'), ...texts('Model')].join(' ');
  const taken = texts('DateTimeOriginal').map((date) => `Taken: ${dateOf(date)}.`);
  const changed = texts('DateTime').map((date) => `Changed: ${dateOf(date)}.`);
  const settings = [
    ...numbers('ExposureTime').map((time) =>
      time < 0.5 ? `1/${Math.round(1 / time)} s` : `${rounded(time)} s`,
    ),
    ...numbers('FNumber').map((aperture) => `f/${rounded(aperture)}`),
    ...numbers('FocalLength').map((length) => `${rounded(length)} mm`),
    ...numbers('ISOSpeedRatings').map((iso) => `ISO ${iso}`),
  ];
  const place = [gps?.Latitude ?? NaN, gps?.Longitude ?? NaN];
  return [
    ...(camera ? [`Camera: ${code(camera)}.`] : []),
    ...(taken.length > 0 ? taken : changed),
    ...(settings.length > 0 ? [`${settings.join(', ')}.`] : []),
    ...Object.entries(LABELS).flatMap(([tag, label]) =>
      texts(tag).map((text) => `${label}: ${code(text, LONGEST_TEXT)}.`),
    ),
    ...(place.every(Number.isFinite)
      ? [`Place: ${place.map((degrees) => degrees.toFixed(5)).join(', ')}.`]
      : []),
  ];
}

/** `2024:02:29 12:30:00` as `2024-02-29 12:30:00`. */
function dateOf(text: string): string {
  return code(text.replace(/^(\d{4}):(\d\d):(\d\d)/, '$1-$2-$3'), 40);
}

function rounded(value: number): string {
  return String(Number(value.toFixed(1)));
}
