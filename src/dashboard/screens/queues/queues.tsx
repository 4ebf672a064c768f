import { lazy, Suspense } from 'react';
import { useSearchParams } from 'wouter';
import { QueueList } from './queue-list.tsx';

const FirstRun = lazy(() => import('../first-run/first-run.tsx'));

const CRUMBS = [{ label: 'Queues', to: '/queues' }, { label: 'New queue' }];

export default function Queues() {
  const [params] = useSearchParams();
  if (!params.has('new')) return <QueueList />;
  return (
    <Suspense fallback={null}>
      <FirstRun crumbs={CRUMBS} />
    </Suspense>
  );
}
