import { Page } from '../../shell/page.tsx';

export default function Action() {
  return <Page title="Action" crumbs={[{ label: 'Action' }]} h1="Action" />;
}
