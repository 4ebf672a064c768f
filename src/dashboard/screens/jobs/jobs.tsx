import { Page } from '../../shell/page.tsx';

export default function Jobs() {
  return <Page title="Jobs" crumbs={[{ label: 'Jobs' }]} h1="Jobs" />;
}
