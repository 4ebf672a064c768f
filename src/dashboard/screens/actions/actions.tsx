import { Page } from '../../shell/page.tsx';

export default function Actions() {
  return <Page title="Actions" crumbs={[{ label: 'Actions' }]} h1="Actions" />;
}
