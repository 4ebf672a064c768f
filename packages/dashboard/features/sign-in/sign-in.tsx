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

/** The soundings of a nautical chart: lines of equal depth, with depths in metres. */
const LINES = Array.from({ length: 7 }, (_, n) => {
  const y = 78 + n * 52;
  const path = `M-20 ${y}C173 ${y - 64 + n * 4} 317 ${y + 23 - n * 2} 518 ${y - 9}S806 ${y - 73 + n * 7} 979 ${y - 23}S1267 ${y + 32 - n * 3} 1460 ${y - 41 + n * 4}`;
  return { path, isDashed: n % 2 === 1, isShore: n === 0 };
});

/** Shoals above, deep water below. */
const DEPTHS = Array.from({ length: 14 }, (_, n) => {
  const row = n % 3;
  return { x: 90 + n * 97, y: 92 + row * 124 + ((n * 13) % 40), depth: 3 + row * 10 + ((n * 5) % 8) };
});

function Soundings() {
  return (
    <svg className="chartlines" viewBox="0 0 1440 420" preserveAspectRatio="xMidYMax slice" aria-hidden="true">
      {LINES.map(({ path, isDashed, isShore }) => (
        <path key={path} d={path} strokeWidth={isShore ? 1.5 : 1} {...(isDashed && { strokeDasharray: '2 6' })} />
      ))}
      {DEPTHS.map(({ x, y, depth }) => (
        <text key={x} x={x} y={y}>
          {depth}
        </text>
      ))}
    </svg>
  );
}

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

interface Methods {
  apiKey: boolean;
  oidc: { name: string } | null;
}

/** Whether this browser has a session, and how one can sign in. */
async function readSession(): Promise<{ signedIn: boolean; methods: Methods }> {
  const response = await fetch(urlOf('session'), {
    headers: { accept: 'application/json' },
    credentials: 'same-origin',
  });
  if (!response.ok) throw new Error(`The server answered ${response.status}.`);
  return (await response.json()) as { signedIn: boolean; methods: Methods };
}

/** Exchanges a key or the token of a one-time link for a session. Returns why that was refused; null if it was not. */
async function openSession(secret: { apiKey: string } | { link: string }): Promise<string | null> {
  try {
    const response = await fetch(urlOf('session'), {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(secret),
      credentials: 'same-origin',
    });
    if (response.ok) return null;
    if (response.status === 429) return 'Too many attempts. Wait a minute, and try again.';
    // The server says which setting is wrong: PUBLIC_URL, or OIDC_ONLY.
    if (response.status === 403) return `Blocked: ${await reasonOf(response)}.`;
    if (response.status !== 401) return `The server answered ${response.status}. Try again in a moment.`;
    return 'link' in secret
      ? 'This link was used before or has expired. Print a new one on the server, or sign in below.'
      : 'This key is not valid: it may be mistyped or revoked.';
  } catch {
    return 'The server could not be reached.';
  }
}

async function reasonOf(response: Response): Promise<string> {
  const { error } = (await response.json().catch(() => ({}))) as { error?: string };
  return error ?? 'the server refused it';
}
