import { Link } from 'wouter-preact';
import { queuePath } from '../../../../query/filter/links.ts';
import { type Mutation, may } from '../../../../query/words/rights.ts';
import type { IconName } from '../../../../query/words/words.ts';
import { useRights } from '../../../api/rights.ts';
import { useUniqueId } from '../../../base/use-unique-id.ts';
import { Icon } from '../../../parts/icon.tsx';
import { NEW_QUEUE } from '../list/new-queue.tsx';

const PARTS: readonly { hash: string; label: string; icon: IconName; mutation: Mutation }[] = [
  { hash: 'secret', label: 'Rotate the signing secret…', icon: 'key', mutation: 'rotateSigningSecret' },
  { hash: 'encryption', label: 'Encrypt payloads…', icon: 'settings', mutation: 'setPayloadEncryption' },
  { hash: 'standard-webhooks', label: 'Standard Webhooks headers', icon: 'settings', mutation: 'setStandardWebhooks' },
  { hash: 'breaker', label: 'Breaker…', icon: 'settings', mutation: 'setBreaker' },
  { hash: 'production', label: 'Mark as production', icon: 'settings', mutation: 'markProduction' },
  { hash: 'purge', label: 'Purge…', icon: 'x', mutation: 'purgeQueue' },
  { hash: 'delete', label: 'Delete…', icon: 'deleted', mutation: 'deleteQueue' },
];

/**
 * Links to rare actions on a queue. They are in the settings, with their price.
 * Behind `…` is a dialog, which opens there at once.
 */
export function MoreMenu({ name, onCheck, onExamine }: { name: string; onCheck: () => void; onExamine: () => void }) {
  const id = useUniqueId();
  const rights = useRights();
  const parts = PARTS.filter(({ mutation }) => may(rights, mutation));
  const mayCheck = may(rights, 'checkReceiver');
  return (
    <span className="more-menu">
      <button type="button" className="btn icon" aria-label="More" popoverTarget={id}>
        <Icon name="more" />
      </button>
      <span id={id} className="menu" popover="auto">
        <Link href={queuePath(name, '/changes')}>
          <Icon name="activity" />
          Change history
        </Link>
        {mayCheck && (
          <button type="button" popoverTarget={id} popoverTargetAction="hide" onClick={onCheck}>
            <Icon name="send" />
            Check the receiver
          </button>
        )}
        {may(rights, 'examineReceiver') && (
          <button type="button" popoverTarget={id} popoverTargetAction="hide" onClick={onExamine}>
            <Icon name="list" />
            Test the receiver…
          </button>
        )}
        {may(rights, 'createQueue') && (
          <Link href={`${NEW_QUEUE}&copy=${encodeURIComponent(name)}`}>
            <Icon name="copy" />
            Copy this queue
          </Link>
        )}
        {parts.map(({ hash, label, icon }) => (
          <Link key={hash} href={`${queuePath(name, '/edit')}#${hash}`}>
            <Icon name={icon} />
            {label}
          </Link>
        ))}
      </span>
    </span>
  );
}
