import { Link, useLocation } from 'wouter';
import { Icon } from '../../parts/icon.tsx';
import { useCommands } from '../../shell/keys.ts';
import { May } from '../../shell/rights.ts';

export const NEW_QUEUE = '/queues?new=1';

/** To the steps that make a queue and show its first job. */
export function NewQueueLink() {
  const [, navigate] = useLocation();
  useCommands([{ key: 'n', label: 'New queue', icon: 'plus', run: () => navigate(NEW_QUEUE), deed: 'createQueue' }]);
  return (
    <May deed="createQueue">
      <Link className="btn" href={NEW_QUEUE}>
        <Icon name="plus" />
        New queue
        <kbd>n</kbd>
      </Link>
    </May>
  );
}
