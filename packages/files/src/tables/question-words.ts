import { folded } from '../words.js';

/** What a question asks to be computed. */
export type Figure = 'sum' | 'mean' | 'count' | 'distinct';

/** By what a question divides time. */
export type Period = 'day' | 'month' | 'year';

// The words are folded: in lower case and without accents. They are English, German and French.

export const FIGURES: [Figure, RegExp][] = [
  ['distinct', /\b(different|distinct|unique|verschieden\w*|unterschiedlich\w*|differents?|differentes?)\b/],
  ['mean', /\b(average|averages|avg|mean|typical|durchschnitt\w*|im schnitt|mittelwert|moyen\w*)\b/],
  ['count', /\b(how many|count|number of|anzahl|wie ?viele|combien de|nombre)\b/],
  [
    'sum',
    /\b(total|totals|sum|sums|overall|altogether|how much|insgesamt|gesamt\w*|summe|zusammen|wie ?viel|somme|combien|sells?|sold|sales|revenue|earn\w*|spen[dt]|turnover|umsatz\w*|verkauf\w*|vendus?|vendue?s?|ventes?)\b/,
  ],
];
const LARGEST = 'highest|biggest|largest|greatest|max|maximum|expensive|hochste\\w*|grosste\\w*|teuerste\\w*';
const SMALLEST = 'lowest|smallest|min|minimum|cheapest|niedrigste\\w*|kleinste\\w*';
/** Words that are about one value, and not about a sum. */
export const EXTREME = new RegExp(`\\b(${LARGEST}|${SMALLEST})\\b`);
export const MOST = new RegExp(
  `\\b(most|top|best|popular|meiste\\w*|beste\\w*|plus|meilleure?|${LARGEST})\\b`,
);
export const LEAST = new RegExp(`\\b(least|fewest|worst|wenigste\\w*|moins|${SMALLEST})\\b`);
export const NEWEST = /\b(newest|latest|last|recent|neueste\w*|letzte\w*|derniere?s?)\b/;
export const OLDEST = /\b(oldest|earliest|first|alteste\w*|erste\w*|premiere?s?)\b/;
export const PERIODS: [Period, RegExp][] = [
  ['month', /\b(months?|monthly|monat\w*|mois|mensuel\w*)\b/],
  ['year', /\b(years?|yearly|annual|jahr\w*|annees?)\b/],
  ['day', /\b(days?|daily|tage?|taglich\w*|jours?)\b/],
];
export const COMPARISON =
  /\b(over|above|more than|greater than|larger than|uber|mehr als|plus de|under|below|less than|fewer than|unter|weniger als|moins de)\s+(\d+(?:\.\d+)?)\b/;
export const SMALLER = /^(under|below|less|fewer|unter|weniger|moins)/;

export const MONTHS = ['en', 'de', 'fr'].map((language) =>
  Array.from({ length: 12 }, (_, month) =>
    folded(
      new Intl.DateTimeFormat(language, { month: 'long', timeZone: 'UTC' }).format(Date.UTC(2024, month, 1)),
    ),
  ),
);

/** Words before what rows are grouped by. */
export const BY = new Set('by per each every pro je jede jeder jedem jedes nach par chaque'.split(' '));

/** Words of the names of columns whose numbers are no amounts. */
export const LABELS = new Set(
  'id nr no number key code zip plz postcode year jahr month monat index lat lon phone telefon'.split(' '),
);

const ALL = [...FIGURES, ...PERIODS].map(([, expression]) => expression);

/** Whether a word says what is to be computed, and not of what. */
export function saysWhat(word: string): boolean {
  return [...ALL, MOST, LEAST, NEWEST, OLDEST].some((expression) => expression.test(word));
}
