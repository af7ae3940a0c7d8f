import { type Draft, draftOf, faultsByField, readForm, readJson } from './form-values.js';
import { type Field, fieldOf } from './schema-fields.js';

const ORDER = fieldOf({
  type: 'object',
  required: ['city', 'count'],
  properties: {
    city: { type: 'string', minLength: 2, maxLength: 5 },
    count: { type: 'integer', minimum: 1, maximum: 10 },
    price: { type: 'number' },
    size: { enum: ['small', 2, null], default: 2 },
    isGift: { type: 'boolean', default: true },
    address: { type: 'object', required: ['street'], properties: { street: { type: 'string' } } },
    'a/b~c': { type: 'array', items: { type: 'string' } },
  },
});

const kindsOf = (field: Field): unknown =>
  field.kind === 'group'
    ? Object.fromEntries(field.fields.map(({ name, field: member }) => [name, kindsOf(member)]))
    : field.kind;
const read = (draft: Draft, field = ORDER) => readForm(field, { ...draftOf(field), ...draft });

describe('The form for a schema', () => {
  it('has fields for objects of simple values, and JSON for everything else', () => {
    expect(kindsOf(ORDER)).toEqual({
      city: 'text',
      count: 'number',
      price: 'number',
      size: 'choice',
      isGift: 'flag',
      address: { street: 'text' },
      'a/b~c': 'json',
    });
  });

  it.each([
    ['a text without a schema', undefined, 'text'],
    ['JSON for any value', true, 'json'],
    ['JSON for several types', { type: ['string', 'null'] }, 'json'],
    ['JSON for what a reference describes', { $ref: '#/$defs/a' }, 'json'],
    ['JSON for composed schemas', { type: 'string', anyOf: [{ minLength: 1 }] }, 'json'],
    ['JSON for an object without members', { type: 'object' }, 'json'],
    ['a choice for a constant', { const: 'yes' }, 'choice'],
    ['a choice for constants with titles', { oneOf: [{ const: 'a', title: 'A' }, { const: 'b' }] }, 'choice'],
    ['JSON for other alternatives', { oneOf: [{ const: 'a' }, { type: 'number' }] }, 'json'],
  ])('has %s', (_, schema, kind) => expect(fieldOf(schema).kind).toBe(kind));

  it('has JSON where objects are in many others', () => {
    let schema: Record<string, unknown> = { type: 'string' };
    for (let depth = 0; depth < 6; depth += 1) schema = { type: 'object', properties: { a: schema } };
    expect(kindsOf(fieldOf(schema))).toEqual({ a: { a: { a: { a: 'json' } } } });
  });

  it('begins with what the schema proposes', () => {
    expect(draftOf(ORDER)).toEqual({
      '/city': '',
      '/count': '',
      '/price': '',
      '/size': '1',
      '/isGift': true,
      '/address/street': '',
      '/a~1b~0c': '',
    });
  });
});

describe('A form', () => {
  it('has a value without what is left empty', () => {
    expect(read({ '/city': 'Oslo', '/count': ' 3', '/size': '' })).toEqual({
      value: { city: 'Oslo', count: 3, isGift: true },
      faults: [],
    });
  });

  it('has all that is written', () => {
    const draft = { '/city': 'Oslo', '/count': '3', '/price': '1.5', '/isGift': false };
    expect(read({ ...draft, '/address/street': 'A', '/a~1b~0c': '["x"]', '/size': '2' }).value).toEqual({
      city: 'Oslo',
      count: 3,
      price: 1.5,
      size: null,
      isGift: false,
      address: { street: 'A' },
      'a/b~c': ['x'],
    });
  });

  it.each([
    [{}, ['/city is needed', '/count is needed']],
    [{ '/city': 'O', '/count': '0' }, ['/city must have at least 2 characters', '/count must be at least 1']],
    [
      { '/city': '😀'.repeat(6), '/count': '11' },
      ['/city must have at most 5 characters', '/count must be at most 10'],
    ],
    [{ '/city': '😀'.repeat(5), '/count': '1.5' }, ['/count must be a whole number']],
    [{ '/city': 'Oslo', '/count': '1', '/price': 'ten' }, ['/price must be a number, such as 12.5']],
  ])('with %j says what is wrong', (draft, faults) => {
    expect(read(draft).faults.map(({ pointer, detail }) => `${pointer} ${detail}`)).toEqual(faults);
  });

  it('needs what an optional object needs only if something of it is written', () => {
    const schema = { type: 'string' };
    const inner = { type: 'object', required: ['a'], properties: { a: schema, b: schema } };
    const field = fieldOf({ type: 'object', properties: { inner } });
    expect(read({}, field)).toEqual({ value: {}, faults: [] });
    expect(read({ '/inner/b': 'x' }, field).faults).toEqual([{ pointer: '/inner/a', detail: 'is needed' }]);
  });

  it('keeps members with the names of other things', () => {
    const properties = Object.fromEntries([['__proto__', { type: 'string' }]]);
    const { value } = read({ '/__proto__': 'x' }, fieldOf({ type: 'object', properties }));
    expect(JSON.stringify(value)).toBe('{"__proto__":"x"}');
  });
});

describe('What is wrong', () => {
  it('is said at the field that is nearest', () => {
    const faults = [
      { pointer: '/city', detail: 'must match pattern "^[A-Z]"' },
      { pointer: '/a~1b~0c/0', detail: 'must be string' },
      { pointer: '/address', detail: "must have required property 'zip'" },
      { pointer: '', detail: 'must NOT have fewer than 9 properties' },
      { pointer: '/unknown', detail: 'is odd' },
    ];
    expect(faultsByField(ORDER, faults)).toEqual({
      '/city': ['This must match pattern "^[A-Z]".'],
      '/a~1b~0c': ['/0 must be string.'],
      '/address': ["This must have required property 'zip'."],
      '': ['This must NOT have fewer than 9 properties.', '/unknown is odd.'],
    });
  });
});

describe('JSON that is written', () => {
  it.each([
    ['{"a": 1}', { a: 1 }],
    ['{}', {}],
  ])('may be an object, %s', (text, value) => {
    expect(readJson(text, '/a', true)).toEqual({ value, faults: [] });
  });

  it.each(['[1]', 'null', '"a"', '1'])('is not an object, %s', (text) => {
    expect(readJson(text, '/a', true).faults).toEqual([
      { pointer: '/a', detail: 'must be a JSON object, such as {"a": 1}' },
    ]);
    expect(readJson(text, '/a').faults).toEqual([]);
  });

  it('is no JSON', () => {
    const { value, faults } = readJson('{', '/a');
    expect([value, faults[0]!.pointer, faults[0]!.detail]).toEqual([
      undefined,
      '/a',
      expect.stringMatching(/^must be JSON, such as "a text" or \{"a": 1\}: /),
    ]);
  });
});
