import { membersOf } from './members.js';

const LEVELS = ['error', 'warning', 'info', 'notice', 'debug'];

/** Whether an agent marks a text as a remark of its own: with a level in its own member of `_meta`. */
export function isRemark(meta: unknown): boolean {
  return Object.values(membersOf(meta)).some((own) => {
    const { kind, level } = membersOf(own);
    return LEVELS.includes(kind as string) || LEVELS.includes(level as string);
  });
}
