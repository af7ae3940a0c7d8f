import { DataType, Type, UnionMode } from 'apache-arrow';
import type {
  Data,
  Date_,
  Decimal,
  Dictionary,
  Duration,
  Field,
  Float,
  Interval,
  Timestamp,
  Union,
} from 'apache-arrow';
import {
  bytesOf,
  clockText,
  dateText,
  decimalText,
  floatText,
  intervalText,
  isTrue,
  timestampText,
  valueOf,
} from './arrow-values.js';
import type { Note, ReadText } from './arrow-values.js';
import type { ColumnNotes } from './column-notes.js';

/** How the values of a type are written. */
interface Form {
  /** Of a value that is not null. */
  text: ReadText;
  /** The same as a part of a list or a structure, in JSON. */
  json(data: Data, at: number): string;
}

/** Values of one list: a hostile file may have any number of them without bytes. */
const MOST_VALUES = 1_000_000;
const UUID = 'arrow.uuid';

/** Reads the cells of a column. @param notes gets what is changed */
export function columnReader({ name, type, metadata }: Field, notes: ColumnNotes): ReadText {
  const isUuid = metadata.get('ARROW:extension:name') === UUID && DataType.isFixedSizeBinary(type);
  const { text } = isUuid ? asText(uuidText) : formOf(type as DataType, (what) => notes.add(name, what));
  return (data, at) => (data.getValid(at) ? text(data, at) : null);
}

function formOf(type: DataType, note: Note): Form {
  switch (type.typeId) {
    case Type.Null:
      return asJson(() => null);
    case Type.Bool:
      return {
        text: (data, at) => (isTrue(data, at) ? 'TRUE' : 'FALSE'),
        json: (data, at) => String(isTrue(data, at)),
      };
    case Type.Int:
      return asJson((data, at) => String(valueOf(data, at)));
    case Type.Float:
      return asJson(floatText((type as Float).precision, note));
    case Type.Decimal:
      return asJson(decimalText(type as Decimal));
    case Type.Utf8:
    case Type.LargeUtf8:
    case Type.Utf8View:
      return asText((data, at) => Buffer.from(bytesOf(data, at)).toString());
    case Type.Binary:
    case Type.LargeBinary:
    case Type.BinaryView:
    case Type.FixedSizeBinary:
      return asText((data, at) => `(${bytesOf(data, at).length} bytes)`);
    case Type.Date:
      return asText(dateText(type as Date_, note));
    case Type.Timestamp:
      return asText(timestampText(type as Timestamp, note));
    case Type.Time:
    case Type.Duration:
      return asText(clockText(type as Duration));
    case Type.Interval:
      return asText(intervalText((type as Interval).unit));
    case Type.Dictionary:
      return dictionaryForm(formOf((type as Dictionary).dictionary as DataType, note));
    default:
      return nestedForm(type, note);
  }
}

/** @throws {RangeError} if a type is not known */
function nestedForm(type: DataType, note: Note): Form {
  const parts = type.children.map((child) => formOf(child.type as DataType, note));
  const [first] = parts;
  if (DataType.isUnion(type)) return unionForm(type, parts);
  if (DataType.isStruct(type)) {
    const keys = type.children.map(({ name }) => JSON.stringify(name));
    return asJson((data, at) => {
      const values = parts.map((part, index) => `${keys[index]}:${jsonOf(part, data.children[index]!, at)}`);
      return `{${values.join(',')}}`;
    });
  }
  if (DataType.isMap(type)) {
    const [key, value] = type.children[0]!.type.children.map((child: Field) =>
      formOf(child.type as DataType, note),
    );
    return asJson((data, at) => {
      const { children } = data.children[0]!;
      const entries = placesOf(data, at).map((place) => {
        const name = JSON.stringify(textOf(key!, children[0]!, place) ?? '');
        return `${name}:${jsonOf(value!, children[1]!, place)}`;
      });
      return `{${entries.join(',')}}`;
    });
  }
  if (!first) throw new RangeError('This type is not known.');
  return asJson((data, at) => {
    const child = data.children[0]!;
    return `[${placesOf(data, at)
      .map((place) => jsonOf(first, child, place))
      .join(',')}]`;
  });
}

/** The places of a list's values in the column of all values. */
function placesOf(data: Data, at: number): number[] {
  const offsets = data.valueOffsets as ArrayLike<number | bigint> | undefined;
  const start = offsets ? Number(offsets[at]) : at * data.stride;
  const end = offsets ? Number(offsets[at + 1]) : start + data.stride;
  const isThere = start >= 0 && start <= end && end <= data.children[0]!.length;
  if (!isThere || end - start > MOST_VALUES) throw new RangeError('A list has values that are not there.');
  return Array.from({ length: end - start }, (_, index) => start + index);
}

function dictionaryForm(form: Form): Form {
  /** A dictionary may have come in several parts. */
  const find = (data: Data, at: number): [data: Data, at: number] => {
    let place = Number(valueOf(data, at));
    for (const part of (data.dictionary?.data ?? []) as Data[]) {
      if (place < part.length) return [part, place];
      place -= part.length;
    }
    throw new RangeError('A dictionary does not have a value.');
  };
  return {
    text: (data, at) => textOf(form, ...find(data, at)),
    json: (data, at) => jsonOf(form, ...find(data, at)),
  };
}

function unionForm({ mode, typeIdToChildIndex }: Union, forms: Form[]): Form {
  const find = (data: Data, at: number): [form: Form, data: Data, at: number] => {
    const child = typeIdToChildIndex[(data.typeIds as Int8Array)[at]!]!;
    const place = mode === UnionMode.Dense ? (data.valueOffsets as Int32Array)[at]! : at;
    return [forms[child]!, data.children[child]!, place];
  };
  return {
    text: (data, at) => textOf(...find(data, at)),
    json: (data, at) => jsonOf(...find(data, at)),
  };
}

function textOf(form: Form, data: Data, at: number): string | null {
  return data.getValid(at) ? form.text(data, at) : null;
}

function jsonOf(form: Form, data: Data, at: number): string {
  return data.getValid(at) ? form.json(data, at) : 'null';
}

function asText(text: ReadText): Form {
  return { text, json: (data, at) => JSON.stringify(text(data, at)) };
}

/** Whose text is JSON. */
function asJson(text: ReadText): Form {
  return { text, json: (data, at) => text(data, at) ?? 'null' };
}

function uuidText(data: Data, at: number): string {
  const hex = Buffer.from(bytesOf(data, at)).toString('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
