import { texts } from '../texts/texts.ts';
import { useWorkCounts } from './use-work.ts';

/** The number of things that wait for the person, for the side bar. */
export function WorkCount() {
  const count = useWorkCounts()?.count ?? 0;
  if (count === 0) return null;
  return (
    <span class="work-count">
      <span aria-hidden="true">{count > MOST_SHOWN ? `${MOST_SHOWN}+` : count}</span>
      <span class="hidden-visually">{texts.work.waiting(count)}</span>
    </span>
  );
}

const MOST_SHOWN = 99;
