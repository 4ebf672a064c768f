import { lazy, Suspense, useEffect } from 'preact/compat';
import { Route, Router, Switch, useLocation } from 'wouter-preact';
import { useSearch } from 'wouter-preact/use-browser-location';
import { toSearch } from '../query/filter/search.ts';
import { setFollowed } from './api/followed-actions.ts';
import { queryClient } from './api/query.ts';
import { basePath, presentPath } from './base/base-path.ts';
import { guardedNavigation } from './base/leave.ts';
import { session } from './base/session.ts';
import { useStore } from './base/store.ts';
import { Breakable } from './shell/broken.tsx';
import { Shell } from './shell/shell.tsx';

/** Whether the document was loaded as the page of the sign-in. */
const beganWithSignIn = presentPath().startsWith('/sign-in');

/**
 * A page that was open for long may be of an older version, whose scripts are no longer on the server. Nothing of it is
 * needed after the end of the session, so the browser loads the document again, once.
 */
async function loadSignIn() {
  try {
    return await import('./features/sign-in/sign-in.tsx');
  } catch (error) {
    if (beganWithSignIn) throw error;
    const { ok } = await fetch(document.baseURI, { method: 'HEAD' });
    if (!ok) throw error;
    location.reload();
    return new Promise<never>(() => undefined);
  }
}

const SignIn = lazy(loadSignIn);

export function App() {
  const { signedIn } = useStore(session);
  return (
    <Router base={basePath} searchHook={useEncodedSearch} aroundNav={guardedNavigation}>
      <ToSignIn />
      <Suspense fallback={null}>
        <Switch>
          <Route path="/sign-in">
            <Breakable place="/sign-in">
              <SignIn />
            </Breakable>
          </Route>
          {/* Not for a moment after the session: nothing of it may be seen by the next person. */}
          <Route>{signedIn && <Shell />}</Route>
        </Switch>
      </Suspense>
    </Router>
  );
}

/** Wouter decodes the search before it is parsed, which decodes it again. This undoes the first time. */
const useEncodedSearch = () => useSearch().replaceAll('%', '%25');

/** The session has ended: sign in, and come back to the same place. What was read is forgotten. */
function ToSignIn() {
  const { signedIn, hasLeft } = useStore(session);
  const [path, navigate] = useLocation();
  useEffect(() => {
    if (signedIn || path === '/sign-in') return;
    if (!hasLeft) {
      queryClient.clear();
      navigate(`/sign-in${toSearch({ to: presentPath() })}`, { replace: true });
      return;
    }
    setFollowed([]);
    // A new document: drafts and whatever else is in memory go with this one, which shows nothing until then. A
    // sign-in drawn here would lose what a quick person types into it.
    location.replace(`${basePath}/sign-in`);
  }, [signedIn, hasLeft, path, navigate]);
  return null;
}
