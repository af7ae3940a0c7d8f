import {
  ArrayNotEmpty,
  IsArray,
  IsDefined,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Max,
  ValidateIf,
  ValidateNested,
  validateSync,
} from 'class-validator';
import { faultsOf } from '../contract/refusals.js';
import { faultsOfDto } from './dto-faults.js';

class Leaf {
  @IsString({ message: 'must be a string' })
  text: unknown;

  @Max(9, { message: 'must be at most 9' })
  @IsInt({ message: 'must be a whole number' })
  @IsOptional()
  size?: unknown;

  constructor(members: Partial<Leaf>) {
    Object.assign(this, members);
  }
}

class Heir extends Leaf {
  @ValidateIf(({ text }: Heir) => text === 'open')
  @IsIn(['a', 'b'], { message: 'must be a or b' })
  door?: unknown;
}

class Tree {
  @ValidateNested({ each: true, message: 'must be an object' })
  @ArrayNotEmpty({ message: 'must not be empty' })
  @IsArray({ message: 'must be an array' })
  leaves: unknown;

  @ValidateNested({ message: 'must be an object' })
  trunk?: unknown;

  constructor(leaves: unknown, trunk?: unknown) {
    this.leaves = leaves;
    if (trunk !== undefined) this.trunk = trunk;
  }
}

/** Its rules are of kinds that are left to class-validator. */
class Rare {
  @IsString({ each: true, message: 'must be strings' })
  words: unknown = ['a'];

  @IsDefined({ message: 'must be there' })
  here: unknown = 1;

  constructor(members: Partial<Rare>) {
    Object.assign(this, members);
  }
}

const right = new Leaf({ text: 'x', size: 9 });
const heir = (members: Partial<Heir>) => Object.assign(new Heir({ text: 'open' }), members);

const DTOS: [says: string, dto: object][] = [
  ['an object without faults', right],
  ['an absent member that may be absent', new Leaf({ text: 'x', size: null })],
  ['a member of another type', new Leaf({ text: 1 })],
  ['two faults of one member', new Leaf({ text: 'x', size: 10.5 })],
  ['several faults', new Leaf({ size: 10 })],
  ['a rule of the class above', heir({ text: 1 })],
  ['a rule with a condition that is true', heir({ door: 'c' })],
  ['a rule with a condition that is false', heir({ text: 'shut', door: 'c' })],
  ['objects in an array', new Tree([right, heir({ door: 'a' })])],
  ['a fault in an array', new Tree([right, new Leaf({ text: 1 })])],
  ['no object in an array', new Tree([right, null, 'x', 1, [right]])],
  ['an empty array', new Tree([])],
  ['no array', new Tree('leaves')],
  ['an object in an object', new Tree([right], right)],
  ['a fault in an object in an object', new Tree([right], new Leaf({ text: 1 }))],
  ['no object in an object', new Tree([right], 7)],
  ['an object of a class without rules', new Tree([{ text: 1 }])],
  ['rules of rare kinds without faults', new Rare({})],
  ['faults of rules of rare kinds', new Rare({ words: ['a', 1], here: null })],
];

describe('The faults of a DTO', () => {
  it.each(DTOS)('are those that class-validator finds: %s', (_, dto) => {
    const options = { stopAtFirstError: true, forbidUnknownValues: false };
    expect(faultsOfDto(dto)).toEqual(faultsOf(validateSync(dto, options), ''));
  });

  it('are found where there are some', () => {
    expect(faultsOfDto(new Tree([right, new Leaf({ text: 1 })]))).toEqual([
      { pointer: '/leaves/1/text', detail: 'must be a string' },
    ]);
    expect(faultsOfDto(new Rare({ words: ['a', 1] }))).toEqual([
      { pointer: '/words', detail: 'must be strings' },
    ]);
  });
});
