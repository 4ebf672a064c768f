import { useRef } from 'preact/compat';
import { Icon } from '../parts/icon.tsx';
import { activeCommands, COMMAND_KEY } from '../parts/page/keys.ts';
import { Table } from '../parts/table.tsx';
import { useModal } from '../parts/use-modal.ts';

/** The keys that have an effect on this screen. */
export default function Help({ onClose }: { onClose: () => void }) {
  const ref = useRef<HTMLDialogElement>(null);
  // Not the button at the end, to which the browser would scroll.
  useModal(ref, (dialog) => {
    dialog.scrollTop = 0;
    return dialog.querySelector('h2');
  });
  const keys = activeCommands().flatMap(({ key, label }) => (key === undefined ? [] : [{ key, label }]));
  return (
    <dialog ref={ref} className="help" aria-labelledby="help-title" onCancel={onClose}>
      <div className="top">
        <h2 id="help-title" tabIndex={-1}>
          Keys of this screen
        </h2>
      </div>
      <div className="in">
        <Table columns={['Key', 'Does']}>
          <tr>
            <td className="nb">
              <kbd>{COMMAND_KEY}K</kbd>
            </td>
            <td>Find or do anything</td>
          </tr>
          {keys.map(({ key, label }) => (
            <tr key={key}>
              <td className="nb">
                {key.split(' ').map((one) => (
                  <kbd key={one}>{one}</kbd>
                ))}
              </td>
              <td>{label}</td>
            </tr>
          ))}
        </Table>
      </div>
      <div className="bottom">
        <button type="button" className="btn" onClick={onClose}>
          <Icon name="x" />
          Close
        </button>
      </div>
    </dialog>
  );
}
