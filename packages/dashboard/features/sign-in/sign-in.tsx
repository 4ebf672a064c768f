import './sign-in.css';
import { useQuery } from '@tanstack/preact-query';
import { type FormEvent, useEffect, useState } from 'preact/compat';
import { useLocation, useSearchParams } from 'wouter-preact';
import { toSearch } from '../../../query/filter/search.ts';
import { urlOf } from '../../api/client.ts';
import { queryClient } from '../../api/query.ts';
import { dropHash } from '../../base/place.ts';
import { signedIn } from '../../base/session.ts';
import { Mark } from '../../parts/icon.tsx';
import { Note } from '../../parts/note.tsx';
import { textOfSignInFailure } from './model/sign-in-failure.ts';
import { openSession, readSession } from './session-api.ts';
import { Soundings } from './soundings.tsx';

export default function SignIn() {
  const [params] = useSearchParams();
  const [, navigate] = useLocation();
  const to = pathOf(params.get('to'));
  const code = params.get('error');
  const [problem, setProblem] = useState(code === null ? null : textOfSignInFailure(code));
  const [isBusy, setBusy] = useState(false);
  // The token of a one-time link is in the fragment, which no server and no log ever sees.
  const [link, setLink] = useState(() => location.hash.slice(1));
  const result = useQuery({
    queryKey: ['session'],
    queryFn: readSession,
    retry: 2,
    retryDelay: 1000,
    staleTime: 0,
    // The person may have signed in again in another tab.
    refetchOnWindowFocus: 'always',
  });
  const methods = result.data?.methods ?? { apiKey: true, oidc: null };

  const enter = () => {
    queryClient.clear();
    signedIn();
    navigate(to, { replace: true });
  };
  const open = async (secret: { apiKey: string } | { link: string }) => {
    setBusy(true);
    const refusal = await openSession(secret);
    setBusy(false);
    if (refusal === null) enter();
    else setProblem(refusal);
  };

  useEffect(() => {
    document.title = 'Sign in · Jobferry';
    if (location.hash !== '') dropHash();
  }, []);
  useEffect(() => {
    if (result.data?.signedIn === true) {
      // Any page can lead here with a link, so it does not replace a session.
      if (link === '') enter();
      else setProblem('This browser is already signed in: sign out first.');
    } else if (link !== '' && !result.isPending) {
      setLink('');
      void open({ link });
    }
  }, [result.data, result.isPending, link]);

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const key = String(new FormData(event.currentTarget).get('key') ?? '').trim();
    if (key === '') setProblem('Enter an API key.');
    else if (!isBusy) void open({ apiKey: key });
  };

  return (
    <main className="alone" id="main">
      <Soundings />
      <form className="card" onSubmit={submit}>
        <div className="top">
          <Mark />
          <div>
            <h1>Sign in to Jobferry</h1>
            <p className="q">{location.host}</p>
          </div>
        </div>
        {problem !== null && (
          <div role="alert">
            <Note signal="bad" icon="failing">
              {problem}
            </Note>
          </div>
        )}
        {methods.oidc !== null && (
          <a className="btn primary full" href={`${urlOf('session/oidc')}${toSearch({ to })}`}>
            Continue with {methods.oidc.name}
          </a>
        )}
        {methods.oidc !== null && methods.apiKey && <div className="or">or</div>}
        {methods.apiKey && <KeyField isBusy={isBusy} isPrimary={methods.oidc === null} />}
      </form>
    </main>
  );
}

function KeyField({ isBusy, isPrimary }: { isBusy: boolean; isPrimary: boolean }) {
  return (
    <>
      <div className="field">
        <label htmlFor="key">API key</label>
        <input
          className="input mono"
          id="key"
          name="key"
          type="password"
          placeholder="jf_…"
          autoComplete="off"
          spellcheck={false}
          aria-describedby="key-hint"
        />
        <small id="key-hint">The key is exchanged for a session and not kept in this browser.</small>
      </div>
      <button
        // A button that becomes secondary would be of both colours for a moment.
        key={String(isPrimary)}
        className={isPrimary ? 'btn primary full' : 'btn full'}
        type="submit"
        aria-disabled={isBusy}
      >
        Sign in with the key
      </button>
      <p className="more">
        No key? This command prints a link on the server:
        <br />
        <code className="nb">jobferry sign-in-link</code>
        <br />
        In a clone, jobferry is <code className="nb">node dist/main.js</code>. The first key of an embedded database is
        in <code className="nb">.data/api-key</code>.
      </p>
    </>
  );
}

/** Only a path of this page: an address of another site must not be a place to come back to. */
function pathOf(to: string | null): string {
  return to !== null && /^\/(?![/\\])/.test(to) ? to : '/';
}
