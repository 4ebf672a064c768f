import { Page } from '../../shell/page.tsx';

export default function Overview() {
  return <Page title="Overview" crumbs={[{ label: 'Overview' }]} h1="Overview" />;
}
