import fc from 'fast-check';
import type { Model } from '../model.js';
import type { World } from '../world.js';
import type { Command } from './command.js';
import { DatabaseFault, Kill, PassTime, Restart } from './faults.js';
import { AskAsStranger, Follow, Leave, ReadRun } from './follow.js';
import { Emit, Fail, Finish } from './handler.js';
import { Cancel, Erase, Fork, ReadSession } from './session.js';
import { CutAndRetry, CutBody, Submit, SubmitInvalid } from './submit.js';
import { Together } from './together.js';

type CommandClass = new (choices: number[]) => Command;

/** How often each command occurs in relation to the others. */
const WEIGHTS: [CommandClass, number][] = [
  [Submit, 10],
  [SubmitInvalid, 1],
  [CutBody, 1],
  [CutAndRetry, 2],
  [Follow, 5],
  [AskAsStranger, 1],
  [ReadRun, 1],
  [Leave, 2],
  [Emit, 6],
  [Finish, 5],
  [Fail, 2],
  [Cancel, 2],
  [ReadSession, 3],
  [Erase, 1],
  [Fork, 2],
  [Together, 4],
  [Restart, 1],
  [PassTime, 1],
  [DatabaseFault, 2],
];

/** A kill costs the start of a process. */
const KILL: [CommandClass, number] = [Kill, 1];

export function commandArbitraries(hasKills: boolean): fc.Arbitrary<fc.AsyncCommand<Model, World>>[] {
  const choices = fc.array(fc.nat({ max: 1023 }), { minLength: 8, maxLength: 8 });
  const weights = hasKills ? [...WEIGHTS, KILL] : WEIGHTS;
  return weights.flatMap(([Class, weight]) => {
    const numbers =
      Class === Together ? fc.array(fc.nat({ max: 1023 }), { minLength: 2, maxLength: 6 }) : choices;
    return Array.from({ length: weight }, () => numbers.map((values) => new Class(values)));
  });
}
