import { Page } from '../../shell/page.tsx';

export default function DeadLetters() {
  return <Page title="Dead letters" crumbs={[{ label: 'Dead letters' }]} h1="Dead letters" />;
}
