import type { CSSProperties } from 'preact/compat';

/** Where the charts will stand, as high as they are: the page is not empty there, and nothing moves when they come. */
export function ChartFrames() {
  return (
    <div role="status" aria-label="Loading the charts">
      <section className="sec">
        <Frame heightRem={11} />
      </section>
      <div className="cols small-charts">
        {[1, 2, 3].map((n) => (
          <Frame key={n} heightRem={7.5} lines={2} />
        ))}
      </div>
    </div>
  );
}

function Frame({ heightRem, lines = 1 }: { heightRem: number; lines?: number }) {
  return (
    <div className="chart">
      <div className="sec-head" style={{ minBlockSize: `${lines * 1.75}rem` }}>
        <span className="skel" style={{ inlineSize: '10rem' }} />
      </div>
      <div className="plot-frame" style={{ '--height': `${heightRem}rem` } as CSSProperties}>
        <div className="nothing" />
      </div>
    </div>
  );
}
