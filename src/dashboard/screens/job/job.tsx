import { Page } from '../../shell/page.tsx';

export default function Job() {
  return <Page title="Job" crumbs={[{ label: 'Job' }]} h1="Job" />;
}
