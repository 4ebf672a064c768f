import './change-before.css';
import { Link } from 'wouter-preact';
import { changesPath } from '../../query/filter/activity.ts';
import type { ChangeEntry } from '../../query/schema/fragments.ts';
import { HOUR_MS } from '../../query/words/format.ts';
import { changeBefore, changeBeforeOf, RELEASE } from '../words/queue-actions.ts';
import { Icon } from './icon.tsx';

/**
 * The newest change of the queue in the hour before its first job died of a cause, or a release that took over later,
 * as a link to all changes of that hour; if there was none, a link to the changes of the account.
 */
export function ChangeBefore({
  cause: { firstSeen, queue },
  changes,
}: {
  cause: { firstSeen: string; queue: { id: string } | null };
  changes: readonly ChangeEntry[];
}) {
  const entry = changeBeforeOf(changes, firstSeen);
  const first = Date.parse(firstSeen);
  const hour = { from: first - HOUR_MS, to: first };
  return (
    <span className="change-before">
      <Link
        className="link"
        href={changesPath(entry === null || entry.action === RELEASE ? null : (queue?.id ?? null), hour)}
      >
        {entry === null ? (
          'What changed in the hour before'
        ) : (
          <>
            <Icon name="edit" />
            {changeBefore(entry, firstSeen)}
          </>
        )}
      </Link>
    </span>
  );
}
