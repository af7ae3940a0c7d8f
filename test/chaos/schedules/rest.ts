import assert from 'node:assert/strict';
import { countDone } from './client.js';
import { checkView } from './commands/follow.js';
import { takeAnswer } from './commands/submit.js';
import { executing } from './commands/command.js';
import { isDurable } from './settings.js';
import { checkLog, type World } from './world.js';

/** Lets every handler finish, and checks that every run has one end and that nothing is left. */
export async function bringToRest(world: World): Promise<void> {
  await finishAll(world);
  for (const run of world.model.runs.values()) {
    const view = await world.read(run);
    assert(view, `run ${run.id} is lost`);
    checkView(run, view);
    const texts = await world.readLog(run);
    assert.equal(countDone(texts), 1, `run ${run.id} has one done`);
    checkLog(run, texts, world.model.settings.keepsShortLogs);
  }
  await askSessions(world);
  await checkNothingIsLeft(world);
}

async function finishAll(world: World): Promise<void> {
  const { model, host } = world;
  for (let run = executing(model)[0]; run; run = executing(model)[0]) {
    await host.tell('finish', run.id);
    model.stopHandler(run);
    if (run.status === 'running') model.end(run, 'completed');
    await world.settle();
  }
  assert.deepEqual(model.unfinished, []);
}

/** Each session answers another query. */
async function askSessions(world: World): Promise<void> {
  for (const { owner, id } of world.model.usedSessions.values()) {
    const submission = {
      owner,
      session: id,
      key: undefined,
      text: world.newText(),
      isDeaf: false,
      hasFile: true,
    };
    const reply = await world.post(submission, false);
    const run = await takeAnswer(world, submission, false, reply);
    assert(run);
    await world.settle();
    await finishAll(world);
  }
}

async function checkNothingIsLeft(world: World): Promise<void> {
  const { host, options } = world;
  assert.deepEqual(await host.tell('spooled', options.spoolDirectory), [], 'the spool');
  await host.tell('close');
  assert.deepEqual(await host.tell('leaks'), [], 'what the host has left open');
  if (!isDurable(options.store.name)) return;
  const rows = await host.tell('leftRows', options.store);
  for (const [table, count] of Object.entries(rows)) assert.equal(count, 0, `${count} rows in ${table}`);
}
