import { openPalette } from '../../base/overlay.ts';
import { Empty } from '../states.tsx';
import { Page } from './page.tsx';

export function NotFound() {
  return (
    <Page title="Not found" crumbs={[{ label: 'Not found' }]} h1="There is no page at this address.">
      <Empty title="Look for it by name or id">
        <button type="button" className="btn" onClick={openPalette}>
          Find or do anything
        </button>
      </Empty>
    </Page>
  );
}
