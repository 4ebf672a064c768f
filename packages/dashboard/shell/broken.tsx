import { Component, type ReactNode } from 'preact/compat';
import { Empty } from '../parts/states.tsx';

/**
 * Shows what is left when a part cannot be shown: an error of its own, or a script that is no longer on the server
 * since a new version was deployed. The rest of the page goes on. Another `place` is another try.
 */
export class Breakable extends Component<{ place: string; children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static override getDerivedStateFromError(error: Error) {
    return { error };
  }

  override componentDidUpdate({ place }: { place: string }): void {
    if (place !== this.props.place && this.state.error !== null) this.setState({ error: null });
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children;
    return (
      <Empty title="This part cannot be shown." icon="failing">
        <p>There may be a new version of this page. Nothing is lost on the server. ({this.state.error.message})</p>
        <button type="button" className="btn" onClick={() => location.reload()}>
          Load the page again
        </button>
      </Empty>
    );
  }
}
