import { Page } from '../../shell/page.tsx';

export default function QueueSettings() {
  return <Page title="Queue settings" crumbs={[{ label: 'Queue settings' }]} h1="Queue settings" />;
}
