import { useId } from 'react';
import { Link } from 'wouter';
import { queuePath } from '../../model/job-links.ts';
import type { IconName } from '../../model/words.ts';
import { Icon } from '../../parts/icon.tsx';

const PARTS: readonly { hash: string; label: string; icon: IconName }[] = [
  { hash: 'secret', label: 'Rotate the signing secret…', icon: 'key' },
  { hash: 'encryption', label: 'Encrypt payloads…', icon: 'settings' },
  { hash: 'purge', label: 'Purge…', icon: 'x' },
  { hash: 'delete', label: 'Delete…', icon: 'deleted' },
];

/** What is rarely done to a queue; it is in the settings, with its price. */
export function MoreMenu({ name, onCheck }: { name: string; onCheck: () => void }) {
  const id = useId();
  return (
    <span className="more-menu">
      <button
        type="button"
        className="btn icon"
        aria-label="More: check receiver, rotate secret, encrypt, purge, delete"
        popoverTarget={id}
      >
        <Icon name="more" />
      </button>
      <span id={id} className="menu" popover="auto">
        <button type="button" popoverTarget={id} popoverTargetAction="hide" onClick={onCheck}>
          <Icon name="send" />
          Check the receiver
        </button>
        {PARTS.map(({ hash, label, icon }) => (
          <Link key={hash} href={`${queuePath(name, '/edit')}#${hash}`}>
            <Icon name={icon} />
            {label}
          </Link>
        ))}
      </span>
    </span>
  );
}
