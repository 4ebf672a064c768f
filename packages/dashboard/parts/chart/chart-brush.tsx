import { type CSSProperties, type KeyboardEvent, type PointerEvent, useState } from 'preact/compat';
import { minute } from '../../../query/words/format.ts';
import { useView } from '../../base/time.ts';
import { type Area, moveEdge, type Span, spanOfBuckets, spanWithin } from './geometry.ts';

/** Buckets that an arrow key moves an edge by; with Shift, more. */
const KEY_STEPS = { one: 1, more: 6 };
/** A shorter drag is a click. */
const DRAG_PX = 4;

/**
 * Lies over the lines of a chart: the time under the pointer, and the span that is chosen by dragging, or by the arrow
 * keys on one of its two edges.
 */
export function Brush({
  area,
  domain,
  bucketMs,
  hovered,
  onHover,
  span = null,
  onChange,
}: {
  area: Area;
  domain: Span;
  bucketMs: number;
  hovered: number | null;
  onHover: (index: number | null) => void;
  span?: Span | null;
  onChange?: (span: Span | null) => void;
}) {
  const [drag, setDrag] = useState<{ anchor: number; startX: number; span: Span | null } | null>(null);
  const shown = drag?.span ?? (span === null ? null : spanWithin(span, domain));
  const timeAt = (event: PointerEvent<HTMLElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return domain.from + ((event.clientX - left) / width) * (domain.to - domain.from);
  };
  const onPointerDown = (event: PointerEvent<HTMLElement>) => {
    if (onChange === undefined || event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const edge = (event.target as HTMLElement).dataset.edge;
    // An edge is dragged away from the other one.
    const anchor = edge === undefined || shown === null ? timeAt(event) : shown[edge === 'from' ? 'to' : 'from'];
    setDrag({ anchor, startX: event.clientX, span: null });
  };
  const onPointerMove = (event: PointerEvent<HTMLElement>) => {
    const at = timeAt(event);
    const index = Math.floor((at - domain.from) / bucketMs);
    onHover(at >= domain.from && at < domain.to ? index : null);
    if (drag === null || Math.abs(event.clientX - drag.startX) < DRAG_PX) return;
    setDrag({ ...drag, span: spanOfBuckets(drag.anchor, at, domain, bucketMs) });
  };
  const onPointerUp = () => {
    if (drag?.span) onChange?.(drag.span);
    setDrag(null);
  };
  const percent = (at: number) => ((at - domain.from) / (domain.to - domain.from)) * 100;
  return (
    <div
      className={onChange === undefined ? 'over' : 'over brush'}
      style={{ left: area.left, top: area.top, width: area.width, height: area.height }}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={onPointerUp}
      onPointerCancel={() => setDrag(null)}
      onPointerLeave={() => onHover(null)}
    >
      {shown !== null && (
        <i
          className="span"
          style={{
            insetInlineStart: `${percent(shown.from)}%`,
            inlineSize: `${percent(shown.to) - percent(shown.from)}%`,
          }}
        />
      )}
      {hovered !== null && drag === null && (
        <HoverLine at={domain.from + hovered * bucketMs} share={percent(domain.from + (hovered + 0.5) * bucketMs)} />
      )}
      {onChange !== undefined &&
        (['from', 'to'] as const).map((edge) => (
          <Edge key={edge} edge={edge} span={shown} domain={domain} bucketMs={bucketMs} onChange={onChange} />
        ))}
    </div>
  );
}

function HoverLine({ at, share }: { at: number; share: number }) {
  const view = useView();
  const style = { insetInlineStart: `${share}%`, '--side': share > 85 ? '-100%' : '0' } as CSSProperties;
  return (
    <i className="hover-line" style={style} aria-hidden="true">
      <span>from {minute(at, view)}</span>
    </i>
  );
}

/** An edge of the span. While there is no span, it stands at the end of the chart, and shows when it has the focus. */
function Edge({
  edge,
  span,
  domain,
  bucketMs,
  onChange,
}: {
  edge: keyof Span;
  span: Span | null;
  domain: Span;
  bucketMs: number;
  onChange: (span: Span | null) => void;
}) {
  const view = useView();
  const present = span ?? domain;
  const move = (buckets: number) => onChange(moveEdge(present, edge, buckets, domain, bucketMs));
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const step = event.shiftKey ? KEY_STEPS.more : KEY_STEPS.one;
    const all = Math.ceil((domain.to - domain.from) / bucketMs);
    const actions: Record<string, () => void> = {
      ArrowLeft: () => move(-step),
      ArrowDown: () => move(-step),
      ArrowRight: () => move(step),
      ArrowUp: () => move(step),
      Home: () => move(-all),
      End: () => move(all),
      ...(span !== null && { Escape: () => onChange(null) }),
    };
    const action = actions[event.key];
    if (action === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  };
  const seconds = (at: number) => Math.round(at / 1000);
  return (
    <span
      className={span === null ? 'edge' : 'edge on'}
      data-edge={edge}
      style={{ insetInlineStart: `${((present[edge] - domain.from) / (domain.to - domain.from)) * 100}%` }}
      role="slider"
      tabIndex={0}
      aria-label={edge === 'from' ? 'Start of the span of time' : 'End of the span of time'}
      aria-valuemin={seconds(domain.from)}
      aria-valuemax={seconds(domain.to)}
      aria-valuenow={seconds(present[edge])}
      aria-valuetext={minute(present[edge], view)}
      onKeyDown={onKeyDown}
    />
  );
}
