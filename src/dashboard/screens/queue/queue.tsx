import { Page } from '../../shell/page.tsx';

export default function Queue() {
  return <Page title="Queue" crumbs={[{ label: 'Queue' }]} h1="Queue" />;
}
