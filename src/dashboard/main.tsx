import './styles/index.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { presentPath } from './base-path.ts';
import { queryClient } from './graphql/query.ts';
import { startLive } from './live/live.ts';
import { applyPreferences } from './preferences.ts';
import { signedOut } from './session.ts';
import { watchHistory } from './shell/place.ts';

applyPreferences();
// The sign-in page is shown to people without a session, so nothing is asked for before they have one.
if (presentPath().startsWith('/sign-in')) signedOut();
startLive();
watchHistory();

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no element with the id root.');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
