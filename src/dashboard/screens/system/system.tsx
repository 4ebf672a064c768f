import { Page } from '../../shell/page.tsx';

export default function System() {
  return <Page title="System" crumbs={[{ label: 'System' }]} h1="System" />;
}
