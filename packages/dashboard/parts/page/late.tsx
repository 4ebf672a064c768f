import { type ComponentType, type ReactNode, useEffect, useState } from 'preact/compat';
import { liveState } from '../../api/live/live.ts';
import { endToast, toast, toastFailure } from '../toast.tsx';
import { Coming } from './coming.tsx';

const UNREACHED = 'The service cannot be reached; try again in a moment.';
const GONE = 'The service cannot be reached, or has a new version of this page.';

/**
 * Loads the script of a dialog, a menu or a panel when it is first opened. If it cannot be fetched, a message says so
 * and the page stays as it is.
 * @param frame around what stands there meanwhile, which takes the keys
 */
export function late<Props extends { onClose: () => void }>(
  load: () => Promise<{ default: ComponentType<Props> }>,
  frame: (coming: ReactNode) => ReactNode = (coming) => coming,
): ComponentType<Props> {
  let Loaded: ComponentType<Props> | null = null;
  return function Late(props: Props) {
    const { onClose } = props;
    const [, setLoaded] = useState(false);
    useEffect(() => {
      // Another try says itself how it ends.
      for (const text of [UNREACHED, GONE]) endToast(text);
      if (Loaded !== null) return;
      let isOpen = true;
      const fail = (say: () => void) => {
        if (!isOpen) return;
        say();
        onClose();
      };
      const start = async () => {
        if (!(await isReached())) return fail(() => toastFailure(UNREACHED));
        try {
          Loaded = (await load()).default;
          if (isOpen) setLoaded(true);
        } catch {
          fail(sayThatItIsGone);
        }
      };
      void start();
      return () => {
        isOpen = false;
      };
    }, []);
    return Loaded === null ? frame(<Coming onClose={onClose} />) : <Loaded {...props} />;
  };
}

/**
 * Browsers remember that a script could not be fetched, until the page is loaded again,
 * so without a stream this is asked first.
 */
async function isReached(): Promise<boolean> {
  if (liveState.get().staleSince === null) return true;
  return fetch(document.baseURI, { method: 'HEAD' }).then(
    ({ ok }) => ok,
    () => false,
  );
}

function sayThatItIsGone(): void {
  toast({
    text: GONE,
    signal: 'bad',
    icon: 'failed',
    action: { label: 'Load the page again', run: () => location.reload() },
  });
}
