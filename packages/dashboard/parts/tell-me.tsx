import './tell-me.css';
import { Link } from 'wouter-preact';
import { toSearch } from '../../query/filter/search.ts';
import { May } from '../api/rights.ts';
import { FROM_PAGE, type NewAlert, paramsOfAlert } from '../words/new-alert.ts';

/**
 * A link to the dialog for a new alert rule, which would have reported this.
 * @param about names it, for those who cannot see it
 */
export function TellMe({
  alert,
  about,
  className = 'link small tell-me',
}: {
  alert: NewAlert;
  about: string;
  className?: string;
}) {
  return (
    <May mutation="createAlertRule">
      <Link className={className} href={`/alerts${toSearch(paramsOfAlert(alert))}`} state={FROM_PAGE}>
        Alert me…<span className="sr"> {about}</span>
      </Link>
    </May>
  );
}
