import { Icon } from '../icons.js';
import type { Page } from '../state/page.js';
import { versionsOf } from '../state/versions.js';

/** Switches between the versions of a turn. Nothing where there is one. @param number of the turn, from 1 */
export function VersionPager({ page, number }: { page: Page; number: number }) {
  const { id } = page.conversation;
  const { list } = page.service.sessions;
  const versions = versionsOf(
    id,
    number,
    list.map((session) => session.id),
  );
  if (versions.length === 1) return null;
  const at = versions.indexOf(id);
  const step = (by: -1 | 1, name: string) => {
    const version = versions[at + by];
    return (
      <button
        type="button"
        class="plain small"
        aria-label={name}
        disabled={version === undefined}
        onClick={() => version !== undefined && page.select(version)}
      >
        <Icon name={by < 0 ? 'left' : 'right'} />
      </button>
    );
  };
  return (
    <div class="versions" role="group" aria-label={`Versions of question ${number}`}>
      {step(-1, 'Older version')}
      <span>
        {at + 1} of {versions.length}
      </span>
      {step(1, 'Newer version')}
    </div>
  );
}
