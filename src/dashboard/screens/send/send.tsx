import { Page } from '../../shell/page.tsx';

export default function Send() {
  return <Page title="Send" crumbs={[{ label: 'Send' }]} h1="Send" />;
}
