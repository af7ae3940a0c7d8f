import { message } from '../../../../src/index.js';
import type { Envelope } from '../../../../src/index.js';
import type { End, Model, ModelRun } from '../model.js';
import type { World } from '../world.js';
import { Command, executing } from './command.js';

const LARGE = 'x'.repeat(40_000);

abstract class HandlerCommand extends Command {
  override check(model: Readonly<Model>): boolean {
    return executing(model).length > 0;
  }

  async execute(world: World): Promise<void> {
    const run = this.pick(0, executing(world.model));
    if (run.status === 'running') return this.tell(world, run);
    // Whatever an overdue handler does, it stops then.
    await world.host.tell('emit', run.id, [message('late')]);
    world.model.stopHandler(run);
  }

  abstract tell(world: World, run: ModelRun): Promise<void>;

  protected stop(world: World, run: ModelRun, end: End): void {
    world.model.stopHandler(run);
    world.model.end(run, end);
  }
}

/** A handler emits envelopes. */
export class Emit extends HandlerCommand {
  async tell(world: World, run: ModelRun): Promise<void> {
    const { events } = (await world.read(run))!;
    const texts = Array.from({ length: 1 + (this.choices[1]! % 3) }, () => world.newText());
    const isLarge = this.pick(2, [false, false, true]);
    const contents = isLarge ? [texts[0]! + LARGE] : texts;
    await world.host.tell('emit', run.id, contents.map(message));
    run.emitted.push(...contents);
    await world.awaitMessage(run, isLarge ? texts[0]! : texts.at(-1)!, events);
  }
}

/** A handler finishes. */
export class Finish extends HandlerCommand {
  async tell(world: World, run: ModelRun): Promise<void> {
    await world.host.tell('finish', run.id);
    this.stop(world, run, 'completed');
  }
}

/** A handler throws, or emits what is no envelope. */
export class Fail extends HandlerCommand {
  async tell(world: World, run: ModelRun): Promise<void> {
    if (this.pick(1, [true, false])) {
      await world.host.tell('fail', run.id);
      return this.stop(world, run, 'handler_failed');
    }
    await world.host.tell('emit', run.id, [{ type: 5 } as unknown as Envelope]);
    this.stop(world, run, 'invalid_envelope');
  }
}
