import { Suspense } from 'react';
import { useSearchParams } from 'wouter';
import { Only } from '../../../parts/page/only.tsx';
import { ROLE_OF } from '../../../words/rights.ts';
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
