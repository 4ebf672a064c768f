import { lazy, Suspense, useEffect } from 'react';
import { Route, Router, Switch, useLocation } from 'wouter';
import { useSearch } from 'wouter/use-browser-location';
import { basePath, presentPath } from './base-path.ts';
import { queryClient } from './graphql/query.ts';
import { toSearch } from './model/filter/search.ts';
import { session } from './session.ts';
import { Breakable } from './shell/broken.tsx';
import { setFollowed } from './shell/followed-actions.ts';
import { guardedNavigation } from './shell/leave.ts';
import { Shell } from './shell/shell.tsx';
import { useStore } from './store.ts';

const SignIn = lazy(() => import('./screens/sign-in/sign-in.tsx'));

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
    queryClient.clear();
    navigate(`/sign-in${toSearch({ to: hasLeft ? null : presentPath() })}`, { replace: true });
    if (!hasLeft) return;
    setFollowed([]);
    // Drafts and whatever else is in memory go with the page.
    location.reload();
  }, [signedIn, hasLeft, path, navigate]);
  return null;
}
