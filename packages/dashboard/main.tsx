import './styles/index.css';
import { QueryClientProvider } from '@tanstack/preact-query';
import { StrictMode } from 'preact/compat';
import { createRoot } from 'preact/compat/client';
import { startLive } from './api/live/live.ts';
import { queryClient } from './api/query.ts';
import { App } from './app.tsx';
import { presentPath } from './base/base-path.ts';
import { keepFocus } from './base/focus.ts';
import { watchHistory } from './base/place.ts';
import { applyPreferences } from './base/preferences.ts';
import { signedOut } from './base/session.ts';

applyPreferences();
// The sign-in page is shown to people without a session, so nothing is fetched before they have one.
if (presentPath().startsWith('/sign-in')) signedOut();
startLive();
watchHistory();
keepFocus();

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no element with the id root.');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
