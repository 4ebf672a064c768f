import { Page } from '../../shell/page.tsx';

export default function Settings() {
  return <Page title="Settings" crumbs={[{ label: 'Settings' }]} h1="Settings" />;
}
