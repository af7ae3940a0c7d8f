import { readdir, stat } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';

/** Larger files are left out, so that all requests take minutes and not hours. */
const LARGEST = 12_000_000;

/** The kinds: how names end, and how many of a package are taken, where packages have them by the hundred. */
const KINDS = {
  'CSV, TSV': ['csv tsv tab csv.gz'],
  JSON: ['json geojson', 25],
  Parquet: ['parquet'],
  SQLite: ['sqlite db gpkg'],
  XLSX: ['xlsx xlsm'],
  ODS: ['ods ots'],
  XLS: ['xls'],
  XLSB: ['xlsb'],
  DOCX: ['docx dotx'],
  'ODT, ODP': ['odt odp ott otp', 30],
  PPTX: ['pptx potx'],
  EPUB: ['epub'],
  PDF: ['pdf'],
  RTF: ['rtf'],
  HTML: ['html htm xhtml', 5],
  'e-mails': ['eml'],
  XML: ['xml', 5],
  text: ['txt md', 5],
  'YAML, TOML': ['yaml yml toml', 5],
  notebooks: ['ipynb'],
  images: ['png jpg jpeg gif tif tiff webp bmp', 6],
  SVG: ['svg', 3],
  'sound, video': ['oga ogg mp3 wav flac aif aiff au mp4 webm', 8],
  archives: ['zip tar tgz gz bz2 xz 7z', 4],
  'Arrow, Feather': ['arrow feather'],
  'SPSS, Stata, SAS, R': ['sav dta sas7bdat xpt rds rda', 8],
  dBASE: ['dbf'],
  'other data': ['shp nc h5 hdf5 fits npy mat', 4],
  'ICS, VCF': ['ics vcf'],
  'DOC, MSG': ['doc dot ppt msg'],
};

const BY_END = new Map(
  Object.entries(KINDS).flatMap(([kind, [ends]]) => ends.split(' ').map((end) => [end, kind])),
);

/** What npm, Debian and R write into every package. */
const NO_SAMPLE =
  /(?:^|\/)(?:package|package-lock|tsconfig|bower|composer)\.json$|(?:^|\/)\.|\/(?:changelog|NEWS|README|copyright)[\w.-]*$|\/R\/[\w.]+\.rd[sx]$|\/Meta\//i;

/**
 * The sample files of packages.
 *
 * @returns their kind, their path, and their name in lists: the package, and the path in it
 */
export async function samplesIn(packages) {
  const samples = [];
  for (const { name, folder } of packages) {
    const taken = {};
    for (const path of await filesIn(folder)) {
      const kind = kindOf(path);
      if (!kind || NO_SAMPLE.test(relative(folder, path))) continue;
      const { size } = await stat(path);
      const [, most = Infinity] = KINDS[kind];
      taken[kind] ??= 0;
      if (size === 0 || size > LARGEST || taken[kind] >= most) continue;
      taken[kind] += 1;
      samples.push({ kind, path, file: `${name}/${relative(folder, path).replace(/^package\//, '')}` });
    }
  }
  return samples;
}

function kindOf(path) {
  const ends = basename(path).toLowerCase().split('.').slice(1);
  return BY_END.get(ends.slice(-2).join('.')) ?? BY_END.get(ends.at(-1));
}

async function filesIn(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map((entry) => join(entry.parentPath, entry.name)).sort();
}
