import { useState } from 'preact/compat';
import type { ListToExport } from '../../../query/export/run.ts';
import { Icon } from '../icon.tsx';
import { useCommands } from '../page/keys.ts';
import { late } from '../page/late.tsx';

const ExportDialog = late(() => import('./export-dialog.tsx'));

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
      {isOpen && list !== null && <ExportDialog list={list} onClose={() => setOpen(false)} />}
    </>
  );
}
