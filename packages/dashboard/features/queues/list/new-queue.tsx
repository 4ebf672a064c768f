import type { ComponentType } from 'preact/compat';
import { Link, useLocation } from 'wouter-preact';
import { May } from '../../../api/rights.ts';
import { Icon } from '../../../parts/icon.tsx';
import { useCommands } from '../../../parts/page/keys.ts';
import type { Crumb } from '../../../parts/page/page.tsx';

/** The steps from no queue to a delivered job. The route table passes them, as they are a feature of their own. */
export type FirstRunSteps = ComponentType<{
  crumbs: readonly Crumb[];
  /** The account has no queue yet. */
  isFirst?: boolean;
  onCreated?: () => void;
  /** To go on to the page that these steps stood in for. */
  onLeave?: () => void;
}>;

export const NEW_QUEUE = '/queues?new=1';

/** To the steps that create a queue and show its first job. */
export function NewQueueLink() {
  const [, navigate] = useLocation();
  useCommands([
    { key: 'n', label: 'New queue', icon: 'plus', run: () => navigate(NEW_QUEUE), mutation: 'createQueue' },
  ]);
  return (
    <May mutation="createQueue">
      <Link className="btn" href={NEW_QUEUE}>
        <Icon name="plus" />
        New queue
        <kbd>n</kbd>
      </Link>
    </May>
  );
}
