import { Suspense } from 'preact/compat';
import { useSearchParams } from 'wouter-preact';
import { roleFor } from '../../../../query/words/rights.ts';
import { Only } from '../../../parts/page/only.tsx';
import type { FirstRunSteps } from './new-queue.tsx';
import { QueueList } from './queue-list.tsx';

const CRUMBS = [{ label: 'Queues', to: '/queues' }, { label: 'New queue' }];

export default function Queues({ FirstRun }: { FirstRun: FirstRunSteps }) {
  const [params] = useSearchParams();
  if (!params.has('new')) return <QueueList />;
  return (
    <Only needs={roleFor('createQueue')} what="create a queue" title="New queue" crumbs={CRUMBS}>
      <Suspense fallback={null}>
        <FirstRun crumbs={CRUMBS} />
      </Suspense>
    </Only>
  );
}
