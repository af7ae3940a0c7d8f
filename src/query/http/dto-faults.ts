import {
  getMetadataStorage,
  validateSync,
  type ValidationArguments,
  ValidationTypes,
  type ValidatorConstraintInterface,
} from 'class-validator';
import type { FieldError } from 'nest-agent-query-client';
import { faultsOf } from '../contract/refusals.js';

type Rules = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>;
type Members = Record<string, unknown>;
type Check = (dto: Members) => boolean;

const checks = new Map<unknown, Check>();

/**
 * Finds the faults of a DTO, as the decorators of class-validator on its class say. Each fault has a JSON Pointer, and there is one
 * for each value.
 *
 * class-validator looks up and sorts the rules of a class for each object, and makes an error for each property, which takes a tenth
 * of a small query. Therefore it is asked only about a DTO that has a fault.
 */
export function faultsOfDto(dto: object): FieldError[] {
  if (isValid(dto)) return [];
  return faultsOf(validateSync(dto, { stopAtFirstError: true, forbidUnknownValues: false }), '');
}

/** Whether class-validator would find no fault. False also for a class with a kind of rule that is not known here. */
function isValid(dto: object): boolean {
  let check = checks.get(dto.constructor);
  if (!check) checks.set(dto.constructor, (check = checkOf(dto.constructor)));
  return check(dto as Members);
}

function checkOf(type: object['constructor']): Check {
  const storage = getMetadataStorage();
  const rules = storage.getTargetValidationMetadatas(type, '', false, false);
  if (!rules.every(isKnown)) return () => false;
  const properties = Object.values(storage.groupByPropertyName(rules)).map(propertyCheckOf);
  return (dto) => properties.every((isRight) => isRight(dto));
}

function isKnown({ type, each, constraintCls, validateIf }: Rules[number]): boolean {
  if (type === ValidationTypes.CONDITIONAL_VALIDATION || type === ValidationTypes.NESTED_VALIDATION)
    return true;
  const isPlain = type === ValidationTypes.CUSTOM_VALIDATION && !each && !validateIf;
  return isPlain && getMetadataStorage().getTargetValidatorConstraints(constraintCls).every(isSync);
}

function isSync({ async: isAsync }: { async: boolean }): boolean {
  return !isAsync;
}

function propertyCheckOf(rules: Rules): Check {
  const { propertyName: property } = rules[0]!;
  const ofType = (wanted: string) => rules.filter(({ type }) => type === wanted);
  const conditions = ofType(ValidationTypes.CONDITIONAL_VALIDATION).map(
    ({ constraints }) => constraints[0] as (dto: object, value: unknown) => boolean,
  );
  const validators = ofType(ValidationTypes.CUSTOM_VALIDATION).flatMap(validatorsOf);
  const isNested = ofType(ValidationTypes.NESTED_VALIDATION).length > 0;
  return (dto) => {
    const value = dto[property];
    if (!conditions.every((applies) => applies(dto, value))) return true;
    return validators.every((isRight) => isRight(dto, value)) && (!isNested || isNestedValid(value));
  };
}

function validatorsOf({ propertyName: property, constraintCls, constraints }: Rules[number]) {
  const found = getMetadataStorage().getTargetValidatorConstraints(constraintCls);
  const instances: ValidatorConstraintInterface[] = found.map(({ instance }) => instance);
  return instances.map((instance) => (object: Members, value: unknown): boolean => {
    const given: ValidationArguments = {
      targetName: object.constructor.name,
      property,
      object,
      value,
      constraints: constraints as unknown[],
    };
    return instance.validate(value, given) === true;
  });
}

/** Without a value there is nothing to look at: whether there must be one is another rule. */
function isNestedValid(value: unknown): boolean {
  if (value === undefined) return true;
  return Array.isArray(value) ? value.every(isValidObject) : isValidObject(value);
}

function isValidObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && isValid(value);
}
