import { lazy, Suspense, useState } from 'react';
import type { ListToExport } from '../../export/run.ts';
import { Icon } from '../icon.tsx';
import { Coming } from '../page/coming.tsx';
import { useCommands } from '../page/keys.ts';

const ExportDialog = lazy(() => import('./export-dialog.tsx'));

/** Saves a list as a file: all that match, not only the page. */
export function ExportButton({ list }: { list: ListToExport }) {
  const [isOpen, setOpen] = useState(false);
  const open = () => setOpen(list !== null);
  useCommands([{ label: 'Export this list as a file', icon: 'download', run: open }]);
  return (
    <>
      <button type="button" className="btn" aria-disabled={list === null} onClick={open}>
        <Icon name="download" />
        Export…
      </button>
      {isOpen && list !== null && (
        <Suspense fallback={<Coming onClose={() => setOpen(false)} />}>
          <ExportDialog list={list} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
