import { Page } from '../../shell/page.tsx';

export default function Queues() {
  return <Page title="Queues" crumbs={[{ label: 'Queues' }]} h1="Queues" />;
}
