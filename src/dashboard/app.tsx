import { lazy, Suspense, useEffect } from 'react';
import { Route, Router, Switch, useLocation } from 'wouter';
import { useSearch } from 'wouter/use-browser-location';
import { basePath, presentPath } from './base-path.ts';
import { queryClient } from './graphql/query.ts';
import { toSearch } from './model/filter/search.ts';
import { session } from './session.ts';
import { Breakable } from './shell/broken.tsx';
import { guardedNavigation } from './shell/leave.ts';
import { Shell } from './shell/shell.tsx';
import { useStore } from './store.ts';

const SignIn = lazy(() => import('./screens/sign-in/sign-in.tsx'));

export function App() {
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
          <Route>
            <Shell />
          </Route>
        </Switch>
      </Suspense>
    </Router>
  );
}

/** Wouter decodes the search before it is parsed, which decodes it again. This undoes the first time. */
const useEncodedSearch = () => useSearch().replaceAll('%', '%25');

/** A request was answered 401: sign in, and come back to the same place. What was read is forgotten. */
function ToSignIn() {
  const { signedIn } = useStore(session);
  const [path, navigate] = useLocation();
  useEffect(() => {
    if (signedIn || path === '/sign-in') return;
    queryClient.clear();
    navigate(`/sign-in${toSearch({ to: presentPath() })}`, { replace: true });
  }, [signedIn, path, navigate]);
  return null;
}
