import { Page } from '../../shell/page.tsx';

export default function Activity() {
  return <Page title="Activity" crumbs={[{ label: 'Activity' }]} h1="Activity" />;
}
