import { Transform } from 'class-transformer';
import { type ValidationArguments, ValidateBy } from 'class-validator';
import { isInRange, type Range, rangeText } from '../query/index.js';

export function WholeNumber(range: Range, { mayBeAbsent = false } = {}): PropertyDecorator {
  const validate = (value: unknown) => (mayBeAbsent && value === undefined) || isInRange(value, range);
  const rule = ValidateBy(
    { name: 'wholeNumber', validator: { validate } },
    { message: mustBe(rangeText(range)) },
  );
  const read = Transform(({ value }: { value: unknown }) =>
    /^\d+$/.test(String(value)) ? Number(value) : value,
  );
  return (target, property) => {
    read(target, property);
    rule(target, property);
  };
}

/** A number with or without a fraction, which may be absent. */
export function Decimal([least, most]: Range): PropertyDecorator {
  const validate = (value: unknown) =>
    value === undefined || (typeof value === 'number' && value >= least && value <= most);
  const rule = ValidateBy(
    { name: 'decimal', validator: { validate } },
    { message: mustBe(`a number from ${least} to ${most}`) },
  );
  const read = Transform(({ value }: { value: unknown }) =>
    /^\d+(?:\.\d+)?$/.test(String(value)) ? Number(value) : value,
  );
  return (target, property) => {
    read(target, property);
    rule(target, property);
  };
}

export function Text({ mayBeEmpty = false } = {}): PropertyDecorator {
  const isText = (value: unknown) => typeof value === 'string' && (mayBeEmpty || value.trim() !== '');
  return ValidateBy(
    { name: 'text', validator: { validate: isText } },
    { message: mustBe('a text that is not empty') },
  );
}

/**
 * A text that must not be shown; it may be empty.
 *
 * @param fault what is wrong with a text, without a part of it; undefined if nothing is
 */
export function Secret(fault: (text: string) => string | undefined): PropertyDecorator {
  const validate = (value: unknown) => value === '' || fault(String(value)) === undefined;
  const message = ({ property, value }: ValidationArguments) => `${property} ${fault(String(value))}`;
  return ValidateBy({ name: 'secret', validator: { validate } }, { message });
}

/** A list of texts with commas between them; it may be empty. A list of commas alone is a mistake. */
export function Each(isEntry: (entry: string) => boolean, what: string): PropertyDecorator {
  const isList = (value: unknown) => {
    const entries = entriesOf(String(value));
    return value === '' || (entries.length > 0 && entries.every(isEntry));
  };
  return ValidateBy({ name: 'each', validator: { validate: isList } }, { message: mustBe(what) });
}

/** The entries of a list with commas between them, without white space around them. */
export function entriesOf(list: string): string[] {
  return list
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

export function mustBe(what: string) {
  return ({ property, value }: ValidationArguments) =>
    `${property} is ${JSON.stringify(value)}; it must be ${what}.`;
}
