import 'reflect-metadata';
import { Transform, Type } from 'class-transformer';
import {
  Allow,
  IsIn,
  IsNumber,
  IsOptional,
  IsString,
  Max,
  registerDecorator,
  ValidateNested,
} from 'class-validator';
import fc from 'fast-check';
import { TypedKwargs } from './typed-kwargs.js';

class ModelDto {
  @IsString()
  name!: string;

  @IsOptional()
  @IsIn(['low', 'high'])
  effort?: string;
}

function IsKnownCity(): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name: 'isKnownCity',
      target: target.constructor,
      propertyName: String(propertyName),
      async: true,
      options: { message: '$property must be a known city' },
      validator: { validate: (value) => Promise.resolve(value === 'Oslo') },
    });
}

class Kwargs {
  @IsOptional()
  @Max(2)
  @IsNumber()
  temperature = 0.5;

  @IsOptional()
  @ValidateNested()
  @Type(() => ModelDto)
  model?: ModelDto;

  @IsOptional()
  @ValidateNested({ each: true })
  @Type(() => ModelDto)
  fallbacks?: ModelDto[];

  @IsOptional()
  @IsString({ each: true })
  tags?: string[];

  @IsOptional()
  @IsKnownCity()
  city?: string;

  @Allow()
  @Transform(({ value }) => (value === undefined ? undefined : `${String(value)}!`))
  shout?: string;

  isHot(): boolean {
    return this.temperature > 1;
  }
}

const query = (kwargs: object) => ({ parts: [], kwargs: kwargs as Record<string, unknown> });

describe('Typed kwargs', () => {
  const typed = new TypedKwargs(Kwargs);

  it('are an instance of the class, with its defaults and methods', async () => {
    const { kwargs } = await typed.typed(query({}));
    expect(kwargs).toBeInstanceOf(Kwargs);
    expect([kwargs.temperature, kwargs.isHot()]).toEqual([0.5, false]);
  });

  it('have nested instances', async () => {
    const sent = { model: { name: 'a', more: 1 }, fallbacks: [{ name: 'b' }] };
    const { kwargs } = await typed.typed(query(sent));
    expect(kwargs.model).toBeInstanceOf(ModelDto);
    expect(kwargs.fallbacks![0]).toBeInstanceOf(ModelDto);
    expect(kwargs).toMatchObject(sent);
  });

  it.each([
    [
      { temperature: 'hot' },
      '/kwargs/temperature',
      'must be a number conforming to the specified constraints',
    ],
    [{ temperature: 3 }, '/kwargs/temperature', 'must not be greater than 2'],
    [{ model: { name: 1 } }, '/kwargs/model/name', 'must be a string'],
    [{ model: 'gpt' }, '/kwargs/model', 'must be either object or array'],
    [{ fallbacks: [{ name: 'a' }, {}] }, '/kwargs/fallbacks/1/name', 'must be a string'],
    [{ tags: ['a', 1] }, '/kwargs/tags', 'each value in tags must be a string'],
    [{ city: 'Atlantis' }, '/kwargs/city', 'must be a known city'],
  ])('%j have the fault at %s: %s', async (kwargs, pointer, detail) => {
    expect(await typed.faultsOf(kwargs)).toEqual([{ pointer, detail }]);
  });

  it('have all faults at once', async () => {
    const faults = await typed.faultsOf({ temperature: 'hot', model: { effort: 'none' } });
    expect(faults.map(({ pointer }) => pointer)).toEqual([
      '/kwargs/temperature',
      '/kwargs/model/name',
      '/kwargs/model/effort',
    ]);
  });

  it('have no member that would be taken for the class of a value, and pass on every other name', async () => {
    const named = JSON.parse('{"tags":[{"constructor":"x"}],"model":{"name":"a","__proto__":{}}}') as object;
    const detail = 'has a name that no member of such a value can have: send another name';
    expect(await new TypedKwargs(Kwargs).faultsOf(named)).toEqual([
      { pointer: '/kwargs/tags/0/constructor', detail },
      { pointer: '/kwargs/model/__proto__', detail },
    ]);
    const others = JSON.parse('{"constructor":"x","__proto__":1,"other":{"constructor":"x"}}') as object;
    expect(await new TypedKwargs(Kwargs).faultsOf(others)).toEqual([]);
  });

  it('refuse a query as a QueryError', async () => {
    await expect(typed.typed(query({ temperature: 3 }))).rejects.toMatchObject({
      code: 'invalid_query',
      status: 400,
      detail: '"/kwargs/temperature" must not be greater than 2.',
    });
  });

  it('pass on every key without a decorator unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (others) => {
        for (const key of Object.keys(new Kwargs())) delete others[key];
        const sent = JSON.parse(JSON.stringify({ ...others, tags: ['a'] })) as Record<string, unknown>;
        const { kwargs } = await typed.typed(query(sent));
        for (const key of Object.keys(others)) {
          expect(Object.getOwnPropertyDescriptor(kwargs, key)?.value).toBe(sent[key]);
        }
        expect(kwargs.tags).toEqual(['a']);
      }),
    );
  });

  it.each(['__proto__', 'constructor', 'isHot', 'then'])(
    'let no key named %s escape the rules',
    async (key) => {
      const faults = await typed.faultsOf(
        JSON.parse(`{"${key}":{"temperature":1},"temperature":3}`) as object,
      );
      expect(faults).toHaveLength(1);
      const sent = JSON.parse(`{"${key}":{"temperature":1},"temperature":1}`) as Record<string, unknown>;
      const { kwargs } = await typed.typed(query(sent));
      expect(Object.getPrototypeOf(kwargs)).toBe(Kwargs.prototype);
      expect(Object.getOwnPropertyDescriptor(kwargs, key)?.value).toEqual({ temperature: 1 });
    },
  );

  it('are transformed once, and never what the caller sent', async () => {
    const sent = { shout: 'hi' };
    const [first, second] = [await typed.typed(query(sent)), await typed.typed(query(sent))];
    expect(first.kwargs.shout).toBe('hi!');
    expect(second.kwargs).toBe(first.kwargs);
    expect(sent).toEqual({ shout: 'hi' });
  });

  it('need a class with rules', () => {
    class Bare {
      temperature = 1;
    }
    expect(() => new TypedKwargs(Bare)).toThrow(
      'kwargs is the class Bare, of which no property has a decorator of class-validator.',
    );
  });
});
