import { Suspense } from 'react';
import { useSearchParams } from 'wouter';
import { ROLE_OF } from '../../model/rights.ts';
import { Only } from '../../shell/only.tsx';
import type { FirstRunSteps } from './new-queue.tsx';
import { QueueList } from './queue-list.tsx';

const CRUMBS = [{ label: 'Queues', to: '/queues' }, { label: 'New queue' }];

export default function Queues({ FirstRun }: { FirstRun: FirstRunSteps }) {
  const [params] = useSearchParams();
  if (!params.has('new')) return <QueueList />;
  return (
    <Only needs={ROLE_OF.createQueue} what="make a queue" title="New queue" crumbs={CRUMBS}>
      <Suspense fallback={null}>
        <FirstRun crumbs={CRUMBS} />
      </Suspense>
    </Only>
  );
}
