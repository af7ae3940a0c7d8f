import type { AsyncCommand } from 'fast-check';
import type { Model, ModelRun } from '../model.js';
import type { World } from '../world.js';

/** How long a command may take; longer than what it waits for, whose failure says more. */
const DEADLINE_MS = 60_000;

/** One step of a schedule. Its arguments are numbers, which choose among what the model has at that time. */
export abstract class Command implements AsyncCommand<Model, World> {
  /** @param choices numbers from 0 */
  constructor(protected readonly choices: number[]) {}

  /** Does the step, and compares what happens with the model. */
  abstract execute(world: World): Promise<void>;

  /** Whether there is anything to choose from. */
  check(_: Readonly<Model>): boolean {
    return true;
  }

  async run(_: Model, world: World): Promise<void> {
    world.figures.count('commands', this.constructor.name);
    await world.within(this.toString(), this.execute(world), DEADLINE_MS);
    await world.settle();
  }

  toString(): string {
    return `${this.constructor.name}(${this.choices.join()})`;
  }

  /** One of some things, by the choice with this index. */
  protected pick<T>(index: number, things: readonly T[]): T {
    return things[this.choices[index]! % things.length]!;
  }
}

export const OWNERS = ['ann', 'bob'] as const;
export const SESSIONS = [undefined, 's', 't/ä'] as const;
export const KEYS = ['k', 'l'] as const;

/** The runs whose handler can be told something. */
export function executing(model: Readonly<Model>): ModelRun[] {
  return [...model.runs.values(), ...model.stray].filter(({ isExecuting }) => isExecuting);
}

export function allRuns(model: Readonly<Model>): ModelRun[] {
  return [...model.runs.values()];
}
