import { useQuery } from '@tanstack/preact-query';
import { type FormEvent, useState } from 'preact/compat';
import { Link, useLocation, useSearchParams } from 'wouter-preact';
import { pathOfView, viewPageOf, viewQueryOf } from '../../../query/filter/saved-views.ts';
import { request } from '../../api/client.ts';
import { DeleteView, type SavedView, SavedViews, SaveView } from '../../api/operations/saved-views.ts';
import { type Outcome, outcomeOf } from '../../api/outcome.ts';
import { query, queryClient } from '../../api/query.ts';
import { May } from '../../api/rights.ts';
import { Icon } from '../icon.tsx';
import { Failure } from '../states.tsx';
import { type Toast, toast, toastFailure } from '../toast.tsx';

/** The filters of this page that are saved under a name, for everyone, and a field to save the present one. */
export default function Views({ onClose }: { onClose: () => void }) {
  const [path] = useLocation();
  const page = viewPageOf(path);
  const present = viewQueryOf(useSearchParams()[0]);
  const result = useSavedViews();
  const views = result.data?.savedViews.filter((view) => view.page === page) ?? [];
  const [name, setName] = useState('');
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (await save({ page, name, query: present })) setName('');
  };
  return (
    <>
      <Failure result={result} what="The saved views" />
      <ul>
        {views.map((view) => {
          const to = pathOfView(view);
          return (
            <li key={view.id}>
              {to === null ? (
                <span className="cut q">{view.name}</span>
              ) : (
                <Link href={to} onClick={onClose} aria-current={view.query === present ? 'true' : undefined}>
                  <span className="cut">{view.name}</span>
                </Link>
              )}
              <May mutation="deleteSavedView">
                <button type="button" aria-label={`Delete ${view.name}`} onClick={() => remove(view)}>
                  <Icon name="x" />
                </button>
              </May>
            </li>
          );
        })}
      </ul>
      {result.data && views.length === 0 && <p className="small q">No view of this page is saved yet.</p>}
      {present !== '' && (
        <May mutation="saveView">
          <form onSubmit={submit}>
            <input
              className="input"
              aria-label="Name of the view"
              placeholder="Name of this view"
              maxLength={64}
              required
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <button type="submit">Save view</button>
          </form>
        </May>
      )}
    </>
  );
}

export const useSavedViews = () => useQuery(query(SavedViews, {}));

function save(input: Pick<SavedView, 'page' | 'name'> & { query: string }): Promise<boolean> {
  return change({ text: `Saved “${input.name}” for everyone` }, 'Not saved', async () => {
    return outcomeOf((await request(SaveView, { input })).saveView);
  });
}

/** There is no question before it, as it can be undone. */
function remove({ id, page, name, query: text }: SavedView): void {
  const undo = { label: 'Undo', key: 'z', run: () => void save({ page, name, query: text ?? '' }) };
  const deleted = { text: `Deleted “${name}” for everyone`, ...(text !== null && { action: undo }) };
  void change(deleted, 'Not deleted', async () => outcomeOf((await request(DeleteView, { id })).deleteSavedView));
}

/** @returns whether it was done */
async function change(done: Toast, failed: string, run: () => Promise<Outcome<unknown>>): Promise<boolean> {
  try {
    const outcome = await run();
    if (!outcome.ok) throw new Error([...outcome.fieldErrors.values()][0] ?? outcome.message);
    toast(done);
    return true;
  } catch (error) {
    toastFailure(`${failed}: ${(error as Error).message}`);
    return false;
  } finally {
    void queryClient.invalidateQueries({ queryKey: ['SavedViews'] });
  }
}
